import type { LockClient, LockClientOptions } from 'nestjs-redis-lock';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What is taken out of a copy of the library, by the exact text in a built file. */
export interface Patch {
  /** Below `dist/esm`. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

interface Library {
  createLockClient(options: LockClientOptions): LockClient;
}

const built = fileURLToPath(new URL('../../libs/redis-lock/dist/esm', import.meta.url));
/** Inside of node_modules, so that a copy finds what it imports. */
const cache = fileURLToPath(new URL('../../node_modules/.cache/redis-lock-copies', import.meta.url));

/** A copy of the built library with some of its rules taken out; `remove` deletes its files. */
export class PatchedCopy {
  private constructor(
    readonly library: Library,
    private readonly folder: string,
  ) {}

  /** @throws when a text is not found exactly once: the library has changed, and so must the patch. */
  static async make(patches: readonly Patch[] = []): Promise<PatchedCopy> {
    await mkdir(cache, { recursive: true });
    const folder = await mkdtemp(join(cache, 'copy-'));
    try {
      await cp(built, folder, { recursive: true });
      await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
      for (const patch of patches) await apply(folder, patch);
      return new PatchedCopy((await import(join(folder, 'create-lock-client.js'))) as Library, folder);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Where it is imported from. */
  get path(): string {
    return join(this.folder, 'index.js');
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function apply(folder: string, { file, find, put }: Patch): Promise<void> {
  const path = join(folder, file);
  const parts = (await readFile(path, 'utf8')).split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times what is to be taken out: ${find}`);
  await writeFile(path, parts.join(put));
}
