import { Chain, type Link } from './chain.js';
import { runOutsideScopes } from './scope.js';

/** How long a timer may outlive what it was made for, in ms. */
export const LINGER_MS = 1_000;

/** Something that ends at some time unless it is cancelled before. */
export class Deadline {
  /** @internal */
  link: Link<Deadline> | undefined;

  /** @internal */
  constructor(
    private readonly list: DeadlineList,
    readonly at: number,
    readonly callback: () => void,
  ) {}

  cancel(): void {
    this.list.remove(this);
  }
}

/**
 * Time limits of commands and callers. There are several for every lock, nearly all are cancelled at once, and to make and
 * clear a timer for each of them costs as much as the rest of the client. So those of one length share a timer, which is
 * not cleared with the last of them: it does not keep the process alive then, and ends by itself within a second.
 *
 * What has arrived when a limit is over counts: after a stall of the event loop, timers run before the answers that wait
 * in the sockets.
 */
export class Deadlines {
  private readonly lists = new Map<number, DeadlineList>();

  /** Calls back in `ms`. */
  in(ms: number, callback: () => void): Deadline {
    const length = Math.ceil(ms);
    let list = this.lists.get(length);
    if (!list?.ticks) {
      list = new DeadlineList(length, (ended) => {
        if (this.lists.get(length) === ended) this.lists.delete(length);
      });
      this.lists.set(length, list);
    }
    return list.add(callback);
  }

  /** The promise's outcome, or after `ms` the rejection that `late` makes. */
  limit<T>(promise: Promise<T>, ms: number, late: () => Error): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const deadline = this.in(ms, () => reject(late()));
      promise.then(
        (value) => {
          deadline.cancel();
          resolve(value);
        },
        (error: Error) => {
          deadline.cancel();
          reject(error);
        },
      );
    });
  }

  /** Forgets all of them. */
  clear(): void {
    for (const list of this.lists.values()) list.clear();
    this.lists.clear();
  }
}

/** Those of one length, so that the one that was added first ends first. */
class DeadlineList {
  private readonly deadlines = new Chain<Deadline>();
  private readonly timers = setTimeout;
  private timer: NodeJS.Timeout;

  constructor(
    private readonly length: number,
    private readonly whenEnded: (list: DeadlineList) => void,
  ) {
    this.timer = this.wakeIn(length);
  }

  /** Not any more where a test has changed to fake timers or back: the timer belongs to a clock that stands still. */
  get ticks(): boolean {
    return this.timers === setTimeout;
  }

  add(callback: () => void): Deadline {
    if (this.deadlines.size === 0) this.timer.ref();
    const deadline = new Deadline(this, performance.now() + this.length, callback);
    deadline.link = this.deadlines.add(deadline);
    return deadline;
  }

  remove({ link }: Deadline): void {
    if (link?.remove() && this.deadlines.size === 0) this.timer.unref();
  }

  clear(): void {
    clearTimeout(this.timer);
    for (const { link } of this.deadlines) link?.remove();
  }

  private wakeIn(ms: number): NodeJS.Timeout {
    return runOutsideScopes(() => setTimeout(() => setImmediate(() => this.wake()), Math.min(ms, LINGER_MS)));
  }

  private wake(): void {
    const now = performance.now();
    for (let { first } = this.deadlines; first; { first } = this.deadlines) {
      if (first.at > now) {
        this.timer = this.wakeIn(first.at - now);
        return;
      }
      first.link?.remove();
      first.callback();
    }
    this.whenEnded(this);
  }
}
