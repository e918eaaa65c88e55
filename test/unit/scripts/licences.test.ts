import { expect, test } from 'vitest';
import { refusedLicences } from '../../../scripts/licences.ts';

const locked = (license?: string, more = {}) => ({
  'node_modules/@a/b': { version: '1.0.0', license, ...more },
});

test.each([
  'MIT',
  'Apache-2.0 AND MIT',
  '(MIT OR GPL-3.0-only)',
  'GPL-3.0-only OR MIT',
])('%s goes with Apache-2.0', (licence) => {
  expect(refusedLicences(locked(licence))).toEqual([]);
});

test.each([
  'GPL-3.0-only',
  'MIT AND GPL-3.0-only',
  'AGPL-3.0-or-later',
  'UNLICENSED',
  'SSPL-1.0',
])('%s is refused', (licence) => {
  expect(refusedLicences(locked(licence))).toEqual([`@a/b@1.0.0: ${licence}`]);
});

test('a package that names no licence is refused', () => {
  expect(refusedLicences(locked())).toEqual(['@a/b@1.0.0: no licence']);
});

test('a package that only developers use may have any licence', () => {
  expect(refusedLicences(locked('GPL-3.0-only', { dev: true }))).toEqual([]);
});

test('of a package within a package, the inner one is named', () => {
  const packages = {
    'node_modules/a/node_modules/c': { version: '2.0.0', license: 'SSPL-1.0' },
  };
  expect(refusedLicences(packages)).toEqual(['c@2.0.0: SSPL-1.0']);
});
