import { HttpException, Inject, Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { catchError, map, throwError, type Observable } from 'rxjs';
import { isLockError, LockArgumentError, LockTimeoutError, type LockError } from '../lock/lock.errors.js';
import { MODULE_OPTIONS_TOKEN, type RedisLockModuleOptions } from '../module/redis-lock.module-definition.js';

const MESSAGES: Record<number, string> = {
  429: 'System busy, please try later',
  499: 'Client closed request',
  503: 'Service unavailable, please try later',
};

/** The HTTP answer to a LockError, which is its `cause`. It never tells the key. */
export class LockHttpException extends HttpException {
  constructor(error: LockError) {
    const message =
      error instanceof LockArgumentError
        ? `No valid lock key: check ${error.fromRequest}`
        : (MESSAGES[error.statusCode] ?? 'Lock failed');
    super({ statusCode: error.statusCode, error: error.code, message }, error.statusCode, { cause: error });
    this.message = message;
  }
}

/**
 * Turns the errors of locks into HTTP answers. It is an interceptor and no filter, because a catch-all filter of the
 * application is asked before any filter of a module. What would be a 500 passes as it is, so that it is logged like
 * every unexpected error.
 */
@Injectable()
export class LockHttpInterceptor implements NestInterceptor {
  constructor(
    @Inject(MODULE_OPTIONS_TOKEN) private readonly options: RedisLockModuleOptions,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (this.options.http === false || context.getType() !== 'http') return next.handle();
    return next.handle().pipe(
      map((value: unknown) => (isAsyncGenerator(value) ? this.streamOf(value, context) : value)),
      catchError((error: unknown) => throwError(() => this.answer(error, context))),
    );
  }

  /** A locked generator asks for its lock when Nest reads its first piece, behind every interceptor. */
  private async *streamOf(pieces: AsyncGenerator, context: ExecutionContext): AsyncGenerator {
    try {
      yield* pieces;
    } catch (error) {
      throw this.answer(error, context);
    }
  }

  private answer(error: unknown, context: ExecutionContext): unknown {
    if (!isLockError(error) || error.statusCode === 500) return error;
    if (error instanceof LockTimeoutError) {
      const seconds = Math.max(1, Math.ceil(error.waitedMs / 1000));
      this.adapterHost.httpAdapter.setHeader(context.switchToHttp().getResponse(), 'Retry-After', String(seconds));
    }
    return new LockHttpException(error);
  }
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator {
  return Object.prototype.toString.call(value) === '[object AsyncGenerator]';
}
