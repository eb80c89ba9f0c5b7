// The package is ESM; this tells Node and TypeScript that dist/cjs is not.
import { writeFileSync } from 'node:fs';

writeFileSync(new URL('dist/cjs/package.json', import.meta.url), '{ "type": "commonjs" }\n');
