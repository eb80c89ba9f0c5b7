import { UseInterceptors } from '@nestjs/common';
import { KeyTemplate } from '../lock/key-template.js';
import { LockArgumentError } from '../lock/lock.errors.js';
import { lockedHandlerInterceptor, REQUEST_ROOTS } from '../interceptors/locked-handler.interceptor.js';
import { methodOf, nameOf } from './locked-method.js';
import { checkOptions, type LockedOptions } from './locked.decorator.js';

/** The options of a locked HTTP handler. */
export type LockedHandlerOptions = Omit<LockedOptions, 'onBusy' | 'returns'>;

/**
 * Runs an HTTP handler under a lock whose key comes from the request, before pipes: `user`, `params`, `query`, `body`,
 * `headers`. The lock is held until the handler has ended, and until the response's stream has where it answers with
 * one. A client that goes away while it waits leaves the queue.
 *
 * Raw values are not canonical: `/9` and `/09` are two keys and one voucher. Write `<params.id:int>`, or prefer
 * `@Locked`, which sees piped values.
 *
 * @throws LockArgumentError when the class is defined and the template or an option is wrong; a request whose values do
 * not fit answers 400.
 * @example
 * ```ts
 * @Post(':voucherId')
 * @LockedHandler('order:<user.id>:<params.voucherId:int>', { wait: '2s' })
 * buy(@Param('voucherId', ParseIntPipe) voucherId: number) { … }
 * ```
 */
export function LockedHandler(key: string, options: LockedHandlerOptions = {}): MethodDecorator {
  return (target, name, descriptor) => {
    methodOf('LockedHandler', target, name, descriptor);
    const where = `@LockedHandler on ${nameOf(target)}.${String(name)}`;
    const template = KeyTemplate.parse(key, where);
    for (const { root, source } of template.placeholders) {
      if (REQUEST_ROOTS.includes(root)) continue;
      throw new LockArgumentError(
        `${where}: <${source}> of "${key}" does not begin with one of ${REQUEST_ROOTS.join(', ')}.`,
        key,
      );
    }
    UseInterceptors(lockedHandlerInterceptor(template, checkOptions(options, where, [])))(target, name, descriptor);
  };
}
