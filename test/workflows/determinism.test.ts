import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WORKFLOW_TYPES } from '../../src/contract/temporal.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import * as workflows from '../../src/workflows/index.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

test('the workflows can be bundled for the sandbox: no Node modules, no activity code', async () => {
  const { code } = await workflowBundle();
  expect(code).toContain('networkQuery');
});

test('the workflow bundle holds no schemas: they would be built again for every workflow that starts', async () => {
  const { code } = await workflowBundle();
  // The bundle names the packages that it holds.
  expect(code.includes('node_modules/@temporalio/workflow/')).toBe(true);
  expect(code.includes('node_modules/zod/')).toBe(false);
});

test('every workflow type of the contract is exported under its name, and no other', () => {
  expect(Object.keys(workflows).sort()).toEqual(
    Object.values(WORKFLOW_TYPES).sort(),
  );
});

test('workflows import activities as types only', async () => {
  const files = await readdir(join(root, 'src/workflows'), { recursive: true });
  const sources = files.filter((name) => name.endsWith('.ts'));
  const imports = await Promise.all(
    sources.map(async (file) =>
      activityImports(
        await readFile(join(root, 'src/workflows', file), 'utf8'),
      ),
    ),
  );
  expect(imports.flat().length).toBeGreaterThan(10);
  expect(imports.flat().filter(isValueImport)).toEqual([]);

  const planted = `import { activityInfo } from '../../activities/exchange/messages.ts';\n`;
  expect(activityImports(planted).filter(isValueImport)).toHaveLength(1);
});

describe('the bundler refuses', () => {
  let folder: string;
  beforeAll(async () => {
    // Inside the project, so that packages are found.
    await mkdir(join(root, '.cache'), { recursive: true });
    folder = await mkdtemp(join(root, '.cache/determinism-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each([
    [
      'a Node built-in',
      `import { readFile } from 'node:fs/promises';\nexport const w = async () => readFile('x');`,
    ],
    [
      'the client',
      `import { Client } from '@temporalio/client';\nexport const w = async () => new Client();`,
    ],
    [
      'an activity as a value',
      `import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';\nexport const w = async () => openFileBlobStore;`,
    ],
  ])('%s', async (name, source) => {
    const file = join(folder, `${name.replaceAll(' ', '-')}.ts`);
    await writeFile(file, source);
    await expect(loadWorkflowBundle(file)).rejects.toThrow(/cannot be bundled/);
  });
});

/** The import and export statements that name a module of src/activities. */
const activityImports = (source: string): string[] =>
  [
    ...source.matchAll(
      /^(?:import|export)\s[^;]*?from '[^']*\/activities\/[^']*';/gms,
    ),
  ].map(([found]) => found);
const isValueImport = (statement: string) => !/^import type /.test(statement);
