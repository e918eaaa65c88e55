import { readFile } from 'node:fs/promises';
import { refusedLicences } from './licences.ts';

/**
 * `npm run check:licences`: fails if a production dependency has a licence that
 * is not known to allow use here.
 */
const lock = JSON.parse(
  await readFile(new URL('../package-lock.json', import.meta.url), 'utf8'),
);
const refused = refusedLicences(lock.packages);
if (refused.length > 0) {
  console.error(
    `These licences are not on the list of those compatible with Apache-2.0 (scripts/licences.ts):\n${refused.join('\n')}`,
  );
  process.exitCode = 1;
}
