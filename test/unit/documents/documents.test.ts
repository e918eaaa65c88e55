import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { VARIABLES } from '../../../src/config.ts';
import * as signals from '../../../src/contract/temporal.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const DOCUMENTS = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'docs',
  'src',
  'tools',
  'test',
  'samples',
];
/** Read by docker-compose.yml, by pip, by the image, or by a test. */
const OTHER_VARIABLES = [
  'AWS_ACCESS_KEY_ID',
  'AWS_REGION',
  'AWS_SECRET_ACCESS_KEY',
  'BULK_DATA_CLIENT',
  'CODEC_ORIGIN',
  'CONFORMANCE_DATA',
  'CONFORMANCE_WHOLE',
  'IMAGE_TAG',
  'MALLOC_ARENA_MAX',
  'NODE_COMPILE_CACHE',
  'NODE_OPTIONS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'TEMPORAL_RETENTION',
  'SOURCE_CALLS_MAX',
];

/** By `npm run secrets`; never in the repository. */
const MADE_LATER = [
  'deploy/secrets',
  'deploy/secrets/api-key',
  'deploy/secrets/temporal-api-key',
];

const documents = (
  await Promise.all(
    DOCUMENTS.map(async (path) =>
      path.endsWith('.md')
        ? [path]
        : (
            await readdir(join(ROOT, path), { recursive: true })
          )
            .filter((name) => name.endsWith('.md'))
            .map((name) => join(path, name)),
    ),
  )
).flat();
const scriptsOf = async (folder: string) =>
  (
    JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8')) as {
      scripts: object;
    }
  ).scripts;
const scripts = {
  ...(await scriptsOf('.')),
  ...(await scriptsOf('examples/own-workflow')),
};

/** The anchors that GitHub makes of a page's headings. */
const anchorsOf = (text: string) =>
  new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .replaceAll(/\]\([^)]*\)/g, '')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

describe.each(documents)('%s', (path) => {
  test('leads to what is there and names commands and variables that exist', async () => {
    const text = await readFile(join(ROOT, path), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map(
      ([, link = '']) => link,
    );
    expect(
      links.filter((link) => !existsSync(join(ROOT, dirname(path), link))),
    ).toEqual([]);

    const named = [
      ...text.matchAll(/\]\((?!https?:)([^)#\s]*\.md)?#([^)\s]+)\)/g),
    ];
    const missing = named.filter(([, file, name = '']) => {
      const target =
        file === undefined ? join(ROOT, path) : join(ROOT, dirname(path), file);
      return !anchorsOf(readFileSync(target, 'utf8')).has(name);
    });
    expect(missing.map(([link]) => link)).toEqual([]);

    const commands = [...text.matchAll(/npm run ([\w-]+(?::[\w-]+)*)/g)].map(
      ([, name = '']) => name,
    );
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);

    const variables = [
      ...text.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g),
    ].map(([, name = '']) => name);
    const isKnown = (name: string) =>
      name.replace(/_FILE$/, '') in VARIABLES ||
      OTHER_VARIABLES.includes(name) ||
      name in signals;
    expect(variables.filter((name) => !isKnown(name))).toEqual([]);

    const files = [
      ...text.matchAll(/`((?:src|test|docs|deploy|bench|samples)\/[\w./-]+)`/g),
    ].map(([, file = '']) => file);
    const isThere = (file: string) =>
      MADE_LATER.includes(file) || existsSync(join(ROOT, file));
    expect(files.filter((file) => !isThere(file))).toEqual([]);
  });
});

test('docs/README.md leads to every page of docs', async () => {
  const index = await readFile(join(ROOT, 'docs/README.md'), 'utf8');
  const pages = documents.filter((path) =>
    /^docs\/(?:operations\/)?[^/]+\.md$/.test(path),
  );
  const linked = (path: string) =>
    index.includes(`](${path.replace('docs/', '')}`);
  expect(
    pages.filter((path) => path !== 'docs/README.md' && !linked(path)),
  ).toEqual([]);
});
