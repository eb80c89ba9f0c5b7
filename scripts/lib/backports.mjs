import { existsSync, readFileSync } from 'node:fs';

/**
 * @typedef {object} Source
 * @property {string} uri
 * @property {string} [signedBy]
 */

/** @param {string} file */
function read(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/**
 * @param {string} text of `debian.sources`: fields in stanzas
 * @param {string} codename
 * @returns {Source | undefined}
 */
function fromStanzas(text, codename) {
  for (const stanza of text.split(/\n\s*\n/)) {
    const field = (/** @type {string} */ name) => new RegExp(`^${name}:[ \\t]*(.+)$`, 'im').exec(stanza)?.[1]?.trim();
    const [uri] = field('URIs')?.split(/\s+/) ?? [];
    if (uri && field('Suites')?.split(/\s+/).includes(codename)) return { uri, signedBy: field('Signed-By') };
  }
  return undefined;
}

/**
 * @param {string} text of `sources.list`: `deb [options] uri suite components`
 * @param {string} codename
 * @returns {Source | undefined}
 */
function fromLines(text, codename) {
  for (const [, options = '', uri, suite] of text.matchAll(/^deb[ \t]+(?:\[(.*?)\][ \t]+)?(\S+)[ \t]+(\S+)/gm)) {
    if (uri && suite === codename) return { uri, signedBy: /signed-by=(\S+)/i.exec(options)?.[1] };
  }
  return undefined;
}

/**
 * Debian's backports from where this machine has its other packages; undefined when that is no Debian.
 *
 * @param {string} [etc] the folder of the configuration
 * @returns {{ suite: string, list: string } | undefined} `list`: for a file in sources.list.d
 */
export function backports(etc = '/etc') {
  const release = read(`${etc}/os-release`);
  const codename = /^VERSION_CODENAME="?(\w+)"?$/m.exec(release)?.[1];
  if (!codename || !/^ID="?debian"?$/m.test(release)) return undefined;
  const source =
    fromStanzas(read(`${etc}/apt/sources.list.d/debian.sources`), codename) ??
    fromLines(read(`${etc}/apt/sources.list`), codename);
  if (!source) return undefined;
  const suite = `${codename}-backports`;
  const fields = ['Types: deb', `URIs: ${source.uri}`, `Suites: ${suite}`, 'Components: main'];
  if (source.signedBy) fields.push(`Signed-By: ${source.signedBy}`);
  return { suite, list: `${fields.join('\n')}\n` };
}
