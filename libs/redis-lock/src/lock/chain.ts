/** The place of one element in a {@link Chain}. */
export class Link<T extends object> {
  /** @internal */
  previous: Link<T> | undefined;
  /** @internal */
  next: Link<T> | undefined;

  /** @internal */
  constructor(
    private chain: Chain<T> | undefined,
    /** @internal */
    public value: T | undefined,
  ) {}

  /** Takes the element out, and says whether it was still in. */
  remove(): boolean {
    const { chain } = this;
    if (!chain) return false;
    chain.unlink(this);
    this.chain = this.value = undefined;
    return true;
  }
}

/**
 * Elements in the order of their arrival, each of which can be taken out by its link. Whoever goes through them meets
 * those that were there when he began and have not been taken out since.
 *
 * For what comes and goes with every lock. A `Set` or `Map` is dear there: V8 moves its elements into a new table again
 * and again, and a table that was left keeps the next one, and so all that has ever been in them, until the next full
 * garbage collection. A link that was taken out keeps nothing.
 */
export class Chain<T extends object> implements Iterable<T> {
  private head: Link<T> | undefined;
  private tail: Link<T> | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  get first(): T | undefined {
    return this.head?.value;
  }

  add(value: T): Link<T> {
    const link = new Link(this, value);
    link.previous = this.tail;
    if (this.tail) this.tail.next = link;
    else this.head = link;
    this.tail = link;
    this.count++;
    return link;
  }

  /** @internal */
  unlink(link: Link<T>): void {
    const { previous, next } = link;
    if (previous) previous.next = next;
    else this.head = next;
    if (next) next.previous = previous;
    else this.tail = previous;
    link.previous = link.next = undefined;
    this.count--;
  }

  *[Symbol.iterator](): Generator<T> {
    const links: Link<T>[] = [];
    for (let link = this.head; link; link = link.next) links.push(link);
    // The value is looked at when it is its turn: it may have been taken out since.
    for (const link of links) if (link.value !== undefined) yield link.value;
  }
}
