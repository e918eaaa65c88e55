/**
 * Licences that may be shipped together with code under Apache-2.0: permissive
 * ones, CC-BY-4.0 for data, and OFL-1.1 for fonts, which allows them to be
 * shipped with any software and to be embedded in documents. Ask a lawyer
 * before adding another one.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC-BY-4.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'OFL-1.1',
  'Unlicense',
  'Zlib',
]);

/**
 * Packages whose package.json has no licence, with the licence in the LICENSE
 * file of this version. Check again for every other version.
 */
const READ_BY_HAND: Readonly<Record<string, string>> = {
  'png-js@2.0.0': 'MIT',
  'unionfs@4.6.0': 'Unlicense',
};

/** One entry of `packages` in package-lock.json. */
export interface LockedPackage {
  version?: string;
  license?: string;
  dev?: boolean;
  /** A package of this repository, whose own entry is beside it. */
  link?: boolean;
}

/**
 * Lists the production dependencies whose licence is missing or not allowed, as
 * `name@version: licence`.
 */
export function refusedLicences(
  packages: Readonly<Record<string, LockedPackage>>,
): string[] {
  const refused = Object.entries(packages)
    .filter(
      ([path, { dev, link }]) => path !== '' && dev !== true && link !== true,
    )
    .map(([path, { version = '', license }]) => {
      const name = `${path.split('node_modules/').at(-1)}@${version}`;
      return { name, licence: license ?? READ_BY_HAND[name] };
    })
    .filter(({ licence }) => licence === undefined || !isAllowed(licence))
    .map(({ name, licence }) => `${name}: ${licence ?? 'no licence'}`);
  return [...new Set(refused)].sort();
}

/**
 * Evaluates an SPDX expression: one allowed side of OR is enough; with AND, all
 * must be allowed.
 */
function isAllowed(expression: string): boolean {
  const choices = expression.replace(/^\((.*)\)$/, '$1').split(/ OR /);
  return choices.some((choice) =>
    choice.split(/ AND /).every((licence) => ALLOWED.has(licence)),
  );
}
