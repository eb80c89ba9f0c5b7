import { fileURLToPath } from 'node:url';
import { Child } from './child.mjs';

const app = fileURLToPath(new URL('../../apps/flash-sale/dist/main.js', import.meta.url));

/**
 * @typedef {{ indexHits: number, firings: { at: number, ran: boolean }[] }} NodeStats see StatsService of the app
 */

/** Three processes of the built app, as on three machines. */
export class Nodes {
  #children;

  /**
   * @param {Child[]} children
   * @param {string[]} urls
   */
  constructor(children, urls) {
    this.#children = children;
    this.urls = urls;
  }

  /**
   * @param {NodeJS.ProcessEnv} env
   * @param {import('../lib/cleanup.mjs').Cleanup} cleanup
   */
  static async start(env, cleanup) {
    const children = [1, 2, 3].map(() => new Child(app, { ...env, PORT: '0' }, cleanup));
    const listening = await Promise.all(children.map((child) => child.printed(/Listening on http:\S+:(\d+)/)));
    return new Nodes(
      children,
      listening.map(([, port]) => `http://localhost:${port}`),
    );
  }

  /** @returns {Promise<NodeStats[]>} of each node */
  stats() {
    return Promise.all(this.urls.map(async (url) => JSON.parse(await (await fetch(`${url}/stats`)).text())));
  }

  async indexHits() {
    return (await this.stats()).reduce((sum, { indexHits }) => sum + indexHits, 0);
  }

  async stop() {
    await Promise.all(this.#children.map((child) => child.stop()));
  }
}
