import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readText } from '../../support/compose-file.ts';

const threats = readText('SECURITY.md')
  .split('\n')
  .filter((line) => /^\|.*\|$/.test(line))
  .map((line) => line.slice(1, -1).split('|'))
  .filter((cells) => cells.length === 4)
  .slice(2);

test('every threat in SECURITY.md names its guard, and a test or decision that exists', () => {
  expect(threats.length).toBeGreaterThan(20);
  for (const [, threat = '', guard = '', shownBy = ''] of threats) {
    const paths = [...shownBy.matchAll(/`((?:test|docs)\/[^`]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect([guard.trim(), paths.length], threat).not.toContain(0);
    expect(
      paths.filter(
        (path) =>
          !existsSync(join(ROOT, path)) &&
          !existsSync(join(ROOT, `${path}.test.ts`)),
      ),
      threat,
    ).toEqual([]);
  }
});
