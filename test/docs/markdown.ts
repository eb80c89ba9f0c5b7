/** A fenced block of a page. */
export interface CodeBlock {
  readonly page: string;
  /** The line of the page on which its code begins, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The name in `<!-- prelude: name -->` right before it: `test/docs/preludes/<name>.ts`. */
  readonly prelude: string | undefined;
}

const FENCED_BLOCK = /(?:^<!-- prelude: (?<prelude>[\w-]+) -->\n\n?)?^```(?<language>\S*)[^\n]*\n(?<code>.*?)^```$/gmsu;

export function codeBlocks(page: string, text: string): CodeBlock[] {
  return [...text.matchAll(FENCED_BLOCK)].map(({ 0: all, index, groups }) => {
    const { prelude, language = '', code = '' } = groups ?? {};
    const codeAt = index + all.lastIndexOf(code, all.length - '```'.length);
    return { page, line: text.slice(0, codeAt).split('\n').length, language, code, prelude };
  });
}

/** Every heading with what stands below it, up to the next heading of any level. */
export function sections(text: string): Map<string, string> {
  const found = new Map<string, string>();
  const fenced = codeBlocks('', text).map(({ code }) => code);
  // A `#` at the beginning of a line of code is no heading.
  let hidden = text;
  for (const code of fenced) hidden = hidden.replace(code, () => code.replaceAll('#', '\0'));
  for (const part of hidden.split(/^(?=#{1,6} )/mu)) {
    const [head = '', ...body] = part.replaceAll('\0', '#').split('\n');
    if (head.startsWith('#')) found.set(head.replace(/^#+ /u, ''), body.join('\n').trim());
  }
  return found;
}

/** The cells of the first table of a text, without its head. */
export function tableRows(text: string): string[][] {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('|'));
  const rows = lines.slice(first + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end < 0 ? rows.length : end).map((row) =>
    row
      .split(/(?<!\\)\|/u)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Where the links and images of a page lead to. */
export function links(text: string): string[] {
  const prose = text.replace(/^```.*?^```$/gmsu, '').replace(/`[^`\n]*`/gu, '');
  return [...prose.matchAll(/\[[^\]]*\]\((?<target>[^)\s]+)\)/gu)].map(({ groups }) => groups?.['target'] ?? '');
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchors(text: string): string[] {
  return [...sections(text).keys()].map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
