import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, expectTypeOf, test } from 'vitest';
import {
  type Feature,
  NO_ROUTES,
  NOTHING_OPEN,
  type OpenFeature,
} from '../../../src/exchange/platform/feature.ts';

const EXCHANGE = fileURLToPath(
  new URL('../../../src/exchange/', import.meta.url),
);

/**
 * Folders of features, below src/exchange; `platform/feature.ts` declares the
 * type.
 */
const featureFolders = () =>
  readdirSync(EXCHANGE, { recursive: true, encoding: 'utf8' })
    .filter(
      (path) =>
        basename(path) === 'feature.ts' && path !== 'platform/feature.ts',
    )
    .map((path) => dirname(path));

const feature = (_feature: Feature) => undefined;
const openFeature = (_opened: OpenFeature) => undefined;

// The compiler judges this test: `npm run check` fails when an error that is
// expected here no longer occurs.
test('a feature that forgets a part does not compile', () => {
  const complete = { open: NOTHING_OPEN, routes: NO_ROUTES };
  const { open, routes } = complete;
  expectTypeOf(complete).toExtend<Feature>();
  // @ts-expect-error: no routes
  feature({ open });
  // @ts-expect-error: no open
  feature({ routes });

  const opened = NOTHING_OPEN();
  const { recoveries, drain } = opened;
  expectTypeOf(opened).toExtend<OpenFeature>();
  // @ts-expect-error: no drain, so a process that stops would not wait for the feature's work
  openFeature({ recoveries });
  // @ts-expect-error: no recoveries, so work that a crash interrupts would stay unfinished
  openFeature({ drain });
  // @ts-expect-error: no drain, seen from the feature
  feature({ ...complete, open: () => ({ recoveries }) });
});

test('features.ts lists the feature of every folder in src/exchange that has one', () => {
  const text = readFileSync(`${EXCHANGE}features.ts`, 'utf8');
  const imports = [
    ...text.matchAll(
      /^import \{ (\w+) \} from '\.\/([\w/-]+)\/feature\.ts';$/gm,
    ),
  ];
  const [, list = ''] = /^const FEATURES = \[\n(.*?)^\]/ms.exec(text) ?? [];
  const listed = imports
    .filter(([, name]) => list.includes(`  ${name},\n`))
    .map(([, , folder]) => folder);
  const folders = featureFolders();
  expect(folders.length).toBeGreaterThan(10);
  expect(listed.sort()).toEqual(folders.sort());
});
