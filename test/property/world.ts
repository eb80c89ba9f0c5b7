import { createLockClient, type LockClient, type LockStore } from 'nestjs-redis-lock';
import { connected } from '../support/connected.js';
import { Link } from './link.js';

/** Two keys, of which the first is asked for most. */
export const KEYS = ['a', 'a', 'a', 'b'] as const;

export const CLIENTS = 3;

/** Bounds a command of the clients, in ms. */
export const COMMAND_TIMEOUT_MS = 500;

/** A client, and what is between it and the store. */
export interface Station {
  readonly client: LockClient;
  readonly link: Link;
  close(): Promise<void>;
}

/** A store with its clients, and an administrator who meddles with what is in it. */
export abstract class World {
  readonly stations: Station[] = [];

  /** The token of the lock that the administrator makes end in a moment; undefined when nobody holds the key. */
  abstract expire(key: string): Promise<number | undefined>;
  /** The token of the lock that the administrator deletes; undefined when nobody holds the key. */
  abstract deleteLock(key: string): Promise<number | undefined>;
  abstract deleteQueue(key: string): Promise<void>;
  /** Undefined where there are none. */
  abstract breakConnections(which: 'commands' | 'inboxes'): Promise<unknown> | undefined;
  abstract flushScripts(): Promise<void>;
  /** What is in the store when nobody holds or waits for anything; the fence does not count. */
  abstract left(): Promise<string[]>;
  /** Ends the store itself, after its clients. */
  protected abstract end(): Promise<void>;
  /** The store of a new client, and what closes it. */
  protected abstract connect(): { readonly store: LockStore; close(): Promise<void> };

  async open(): Promise<this> {
    for (let index = 0; index < CLIENTS; index++) this.stations[index] = this.newStation();
    await Promise.all(this.stations.map(async ({ client }) => connected(client)));
    return this;
  }

  station(index: number): Station {
    const station = this.stations[index % CLIENTS];
    if (!station) throw new Error('The world is not open');
    return station;
  }

  /** Closes a client and puts a new one into its place. */
  async replace(index: number): Promise<void> {
    const old = this.station(index);
    this.stations[index % CLIENTS] = this.newStation();
    await old.close();
  }

  async close(): Promise<void> {
    await Promise.all(this.stations.splice(0).map(async (station) => station.close()));
    await this.end();
  }

  private newStation(): Station {
    const connected = this.connect();
    const link = new Link(connected.store);
    const client = createLockClient({
      store: link,
      commandTimeout: COMMAND_TIMEOUT_MS,
      backoff: { initial: 10, max: 100 },
      shutdown: { drain: 0 },
      logger: { warn: () => undefined },
    });
    return {
      client,
      link,
      close: async () => {
        await client.close();
        await connected.close();
      },
    };
  }
}
