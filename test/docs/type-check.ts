import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { CodeBlock } from './markdown.js';

/** Something that the compiler does not like in a block. */
export interface Problem {
  /** Page and line: `README.md:12`. */
  readonly at: string;
  readonly message: string;
}

const root = join(import.meta.dirname, '../..');

/** A block as a file; what it uses without showing it comes after it, so that its lines keep their numbers. */
function sourceOf({ code, prelude }: CodeBlock): string {
  if (prelude === undefined) return code;
  return `${code}\n${readFileSync(join(root, `test/docs/preludes/${prelude}.ts`), 'utf8')}`;
}

/** The options of `tsconfig.base.json`: those of a Nest application, strict. */
function compilerOptions(): ts.CompilerOptions {
  const file = join(root, 'tsconfig.base.json');
  const { config } = ts.readConfigFile(file, (path) => ts.sys.readFile(path)) as { config: object };
  return { ...ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, root).options, noEmit: true };
}

/** Type-checks TypeScript blocks, each as a module of its own, against the built library, as a user's project does. */
export function typeCheck(blocks: readonly CodeBlock[]): Problem[] {
  const files = new Map(blocks.map((block, index) => [join(root, `test/docs/block-${index}.ts`), block]));
  const options = compilerOptions();
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (path) => files.has(path) || disk.fileExists(path),
    getSourceFile: (path, languageVersion, ...rest) => {
      const block = files.get(path);
      return block
        ? ts.createSourceFile(path, sourceOf(block), languageVersion, true)
        : disk.getSourceFile(path, languageVersion, ...rest);
    },
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files].flatMap(([path, block]) => {
    const file = program.getSourceFile(path);
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return found.map(({ start, messageText }) => ({
      at: `${block.page}:${block.line + (file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0)}`,
      message: ts.flattenDiagnosticMessageText(messageText, '\n'),
    }));
  });
}
