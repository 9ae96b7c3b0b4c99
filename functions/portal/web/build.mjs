// Builds the portal: one document that holds its script and its styles.
//
//   node build.mjs          writes ../pages/index.html
//   node build.mjs --check  fails if that file is not what the sources give
//
// The types come from openapi.yaml, so a page that asks for what the API does not have is not built.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const OPENAPI = join(HERE, '../../../openapi.yaml');
const DOCUMENT = join(HERE, '../pages/index.html');
const LARGEST = 60 * 1024;
/** The code that the page about lead capture tells pages to have. */
const SNIPPET = /```html\n(.*?)```/s.exec(readFileSync(join(HERE, '../../../docs/lead-capture.md'), 'utf8'))[1];

const require = createRequire(import.meta.url);
const program = (name, path) => join(dirname(require.resolve(`${name}/package.json`)), path);

/** The types of the API's paths and schemas. They leave no trace in the document. */
export function types() {
  execFileSync(process.execPath, [program('openapi-typescript', 'bin/cli.js'), OPENAPI, '-o', join(HERE, 'src/openapi.d.ts')], { stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync(process.execPath, [program('typescript', 'bin/tsc'), '--project', HERE], { stdio: 'inherit' });
}

/** The document, as text. */
export async function document() {
  const bundle = async (entry, loader) => {
    const { outputFiles } = await build({
      entryPoints: [join(HERE, 'src', entry)],
      bundle: true,
      minify: true,
      write: false,
      charset: 'utf8',
      format: 'iife',
      target: ['chrome111', 'firefox121', 'safari16.4'],
      legalComments: 'none',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      absWorkingDir: HERE,
      define: { SNIPPET: JSON.stringify(SNIPPET) },
    });
    return outputFiles[0].text.trim().replace(/<(?=\/?script)/g, '\\x3c');
  };
  const script = await bundle('main.tsx');
  const style = await bundle('style.css');
  return readFileSync(join(HERE, 'src/index.html'), 'utf8')
    .replace('{{sources}}', () => sources())
    .replace('{{style}}', () => style)
    .replace('{{script}}', () => script);
}

/** The digest of everything that the document is made of. tests/dependencies/test_portal.py computes the same. */
export function sources() {
  const files = readdirSync(join(HERE, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'openapi.d.ts')
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(HERE.length).replaceAll('\\', '/'));
  const all = createHash('sha256');
  for (const file of [...files, 'build.mjs', 'package.json', 'package-lock.json'].sort()) {
    const digest = createHash('sha256').update(readFileSync(join(HERE, file))).digest('hex');
    all.update(`${file} ${digest}\n`);
  }
  all.update(SNIPPET);
  return all.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  types();
  const built = await document();
  const size = gzipSync(built, { level: 9 }).length;
  if (size > LARGEST) throw new Error(`the document has ${size} bytes compressed, more than ${LARGEST}`);
  if (process.argv[2] === '--check') {
    if (readFileSync(DOCUMENT, 'utf8') !== built) throw new Error('pages/index.html is not what the sources give: run `make portal`');
  } else {
    writeFileSync(DOCUMENT, built);
  }
  console.log(`index.html: ${built.length} characters, ${size} bytes compressed`);
}
