import { Injectable } from '@nestjs/common';

/** One node's turn at the scheduled job: whether it ran it or left it to another node. */
export interface Firing {
  /** ms since the epoch. */
  readonly at: number;
  readonly ran: boolean;
}

const REMEMBERED_FIRINGS = 1_000;

/** What this node has seen since it started; the demo reads it. */
@Injectable()
export class StatsService {
  /** How often the unique index had to refuse an order. */
  indexHits = 0;
  readonly firings: Firing[] = [];

  fired(ran: boolean): void {
    this.firings.push({ at: Date.now(), ran });
    if (this.firings.length > REMEMBERED_FIRINGS) this.firings.shift();
  }
}
