import { once } from 'node:events';
import { Redis } from 'ioredis';

const channel = 'bench';

/**
 * No lock at all: one `PUBLISH` until an idle subscriber has it, the least that a hand-over between two clients takes.
 * Who "acquires" a key that was acquired before waits for the message, "release" sends it.
 *
 * @type {import('./index.mjs').Competitor}
 */
export const publish = {
  name: 'PUBLISH to an idle subscriber',
  group: 'publish',
  settings: 'Two connections of ioredis with its defaults. No lock.',
  async open(url) {
    const redis = new Redis(url);
    const subscriber = new Redis(url);
    await subscriber.subscribe(channel);
    /** @type {Set<string>} */
    const taken = new Set();
    return {
      async acquire(key) {
        if (taken.has(key)) await once(subscriber, 'message');
        taken.add(key);
        return () => redis.publish(channel, '1');
      },
      close() {
        redis.disconnect();
        subscriber.disconnect();
      },
    };
  },
};
