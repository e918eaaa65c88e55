import { readFile } from 'node:fs/promises';
import { refusedLicences } from './licences.ts';

/** `npm run check:licences`: whether every production dependency may be used in a product under Apache-2.0. */
const lock = JSON.parse(await readFile(new URL('../package-lock.json', import.meta.url), 'utf8'));
const refused = refusedLicences(lock.packages);
if (refused.length > 0) {
  console.error(
    `Licences that are not known to go with Apache-2.0 (scripts/licences.ts):\n${refused.join('\n')}`,
  );
  process.exitCode = 1;
}
