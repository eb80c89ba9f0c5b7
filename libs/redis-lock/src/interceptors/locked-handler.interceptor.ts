import type { ServerResponse } from 'node:http';
import { Inject, Injectable, mixin, StreamableFile } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor, Type } from '@nestjs/common';
import { RESPONSE_PASSTHROUGH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { Observable } from 'rxjs';
import { lockObservable } from '../decorators/locked-kinds.js';
import type { KeyTemplate } from '../lock/key-template.js';
import type { LockOptions } from '../lock/lock-options.js';
import { LockArgumentError } from '../lock/lock.errors.js';
import { LockService } from '../module/lock.service.js';

/** The parts of an HTTP request that a key may name. */
export const REQUEST_ROOTS: readonly string[] = ['user', 'params', 'query', 'body', 'headers'];

/** The interceptor of one `@LockedHandler`. */
export function lockedHandlerInterceptor(
  template: KeyTemplate,
  options: Omit<LockOptions, 'signal'>,
): Type<NestInterceptor> {
  @Injectable()
  class LockedHandlerInterceptor implements NestInterceptor {
    constructor(@Inject(LockService) private readonly locks: LockService) {}

    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      if (context.getType() !== 'http') {
        throw new LockArgumentError(
          '@LockedHandler takes its key from an HTTP request; use @Locked for other handlers.',
          template.source,
        );
      }
      const request = context.switchToHttp().getRequest<Record<string, unknown>>();
      const response = rawResponse(context);
      const key = template.fill(
        (root) => request[root],
        (root) => root !== 'user',
      );
      return lockObservable(
        this.locks,
        async (unsubscribed) =>
          whileConnected(response, unsubscribed, async (signal) => this.locks.acquire(key, { ...options, signal })),
        options.onLost,
        () => next.handle(),
        async (lock, answer) => {
          if (isStream(answer) || writesItself(context)) whenOver(response, () => void lock.release());
          else await this.locks.settle(lock, answer, options.onLost);
        },
      );
    }
  }
  return mixin(LockedHandlerInterceptor);
}

function rawResponse(context: ExecutionContext): ServerResponse {
  const response = context.switchToHttp().getResponse<ServerResponse | { raw: ServerResponse }>();
  return 'raw' in response ? response.raw : response;
}

/** Whether Nest writes the answer piece by piece after the handler has ended. */
function isStream(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null) return false;
  return answer instanceof StreamableFile || answer instanceof Response || Symbol.asyncIterator in answer;
}

/** Whether the handler was given the response to write it itself (`@Res()` without passthrough, or `@Next()`). */
function writesItself(context: ExecutionContext): boolean {
  const [type, name] = [context.getClass(), context.getHandler().name];
  if (Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, type, name) === true) return false;
  const parameters = Object.keys((Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name) as object | undefined) ?? {});
  return parameters.some((parameter) =>
    [RouteParamtypes.RESPONSE, RouteParamtypes.NEXT].includes(Number(parameter.split(':')[0])),
  );
}

/** Calls back once the response has been written or given up. */
function whenOver(response: ServerResponse, callback: () => void): void {
  if (response.writableFinished || response.destroyed) callback();
  else response.once('close', callback);
}

/** Waits for a lock as long as somebody waits for the answer. */
async function whileConnected<T>(
  response: ServerResponse,
  unsubscribed: AbortSignal | undefined,
  acquire: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController();
  const leave = (): void => gone.abort(new Error('The client closed the connection.'));
  response.once('close', leave);
  unsubscribed?.addEventListener('abort', leave);
  if (response.destroyed || unsubscribed?.aborted) leave();
  try {
    return await acquire(gone.signal);
  } finally {
    response.off('close', leave);
    unsubscribed?.removeEventListener('abort', leave);
  }
}
