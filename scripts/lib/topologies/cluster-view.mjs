import { ask } from './ask.mjs';

/** @typedef {import('../server-process.mjs').ServerProcess} ServerProcess */

/**
 * @typedef {object} Member a node, as another one or itself sees it
 * @property {string} id
 * @property {number} port
 * @property {string[]} flags such as `myself` and `master`
 * @property {string} masterId of a replica; `-` of a master
 * @property {number} epoch
 * @property {boolean} connected
 * @property {[first: number, last: number][]} slots
 */

/**
 * @param {string} line of CLUSTER NODES
 * @returns {Member}
 */
function parse(line) {
  const [id = '', address = '', flags = '', masterId = '', , , epoch, link, ...slots] = line.split(' ');
  return {
    id,
    port: Number(/:(\d+)/.exec(address)?.[1]),
    flags: flags.split(','),
    masterId,
    epoch: Number(epoch),
    connected: link === 'connected',
    slots: slots
      .filter((range) => !range.startsWith('[')) // a slot on its way
      .map((range) => {
        const [first, last = first] = range.split('-').map(Number);
        return [first ?? NaN, last ?? NaN];
      }),
  };
}

/**
 * @param {ServerProcess} node
 * @returns {Promise<Member[]>} the cluster as this node sees it
 */
export async function viewOf(node) {
  const text = String(await ask(node, 'CLUSTER', 'NODES'));
  return text.trim().split('\n').map(parse);
}

/**
 * @template {ServerProcess} T
 * @param {T[]} nodes
 * @returns {Promise<{ node: T, self: Member }[]>} those that answer, each as it sees itself
 */
export async function selfViews(nodes) {
  const views = await Promise.allSettled(
    nodes.map(async (node) => {
      const self = (await viewOf(node)).find(({ flags }) => flags.includes('myself'));
      if (!self) throw new Error(`The node at port ${node.port} does not know itself`);
      return { node, self };
    }),
  );
  return views.flatMap((view) => (view.status === 'fulfilled' ? [view.value] : []));
}

/**
 * @param {Member} member
 * @param {number} slot
 */
export function owns({ flags, slots }, slot) {
  return flags.includes('master') && slots.some(([first, last]) => first <= slot && slot <= last);
}

/** @param {ServerProcess} node */
export async function idOf(node) {
  return String(await ask(node, 'CLUSTER', 'MYID'));
}
