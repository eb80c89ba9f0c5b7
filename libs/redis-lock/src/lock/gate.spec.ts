import { describe, expect, test } from '@jest/globals';
import { Deadlines } from './deadlines.js';
import { Gate } from './gate.js';
import { LockAbortedError } from './lock.errors.js';
import { Patience } from './patience.js';

describe('Gate', () => {
  const patience = (): Patience => new Patience('order', Infinity, undefined, new Deadlines());
  const late = (): LockAbortedError => new LockAbortedError('order', undefined);

  /** Lets everything happen that was about to. */
  const settled = async (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

  test('lets one in at a time, in the order of arrival', async () => {
    const gate = new Gate();
    const order: number[] = [];
    const callers = [1, 2, 3].map(async (n) => gate.enter(patience(), late).then(() => order.push(n)));
    await settled();
    expect(order).toEqual([1]);
    expect(gate).toMatchObject({ busy: true, waiting: 2 });

    gate.leave();
    await settled();
    expect(order).toEqual([1, 2]);
    gate.leave();
    await Promise.all(callers);
    expect(order).toEqual([1, 2, 3]);
    gate.leave();
    expect(gate).toMatchObject({ busy: false, waiting: 0 });
  });

  test('who gives up is out of the queue, and the next one keeps its place', async () => {
    const gate = new Gate();
    await gate.enter(patience(), late);
    const impatient = patience();
    const givesUp = gate.enter(impatient, late);
    const next = gate.enter(patience(), late);
    impatient.stop(new LockAbortedError('order', undefined));
    await expect(givesUp).rejects.toBeInstanceOf(LockAbortedError);
    expect(gate.waiting).toBe(1);
    gate.leave();
    await next;
    expect(gate).toMatchObject({ busy: true, waiting: 0 });
  });

  test('who gives up in the moment of its turn passes it on', async () => {
    const gate = new Gate();
    await gate.enter(patience(), late);
    const impatient = patience();
    const givesUp = gate.enter(impatient, late);
    const next = gate.enter(patience(), late);
    impatient.stop(new LockAbortedError('order', undefined));
    gate.leave();
    await expect(givesUp).rejects.toBeInstanceOf(LockAbortedError);
    await next;
    gate.leave();
    expect(gate).toMatchObject({ busy: false, waiting: 0 });
  });

  test('who has no patience left does not get in', async () => {
    const gate = new Gate();
    const impatient = patience();
    impatient.stop(new LockAbortedError('order', undefined));
    await expect(gate.enter(impatient, late)).rejects.toBeInstanceOf(LockAbortedError);
    expect(gate.busy).toBe(false);
  });
});
