import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readText } from '../../support/compose-file.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('SECURITY.md names tests and files that are there', () => {
  const paths = [
    ...readText('SECURITY.md').matchAll(
      /`((?:src|test|docs|deploy)\/[\w./-]+)`/g,
    ),
  ].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([]);
});
