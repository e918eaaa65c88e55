import { execFile } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';

const PROJECT = fileURLToPath(new URL('./validator', import.meta.url));
const GUIDES = fileURLToPath(new URL('./guides', import.meta.url));
/** Some 145 MB from Maven Central, fetched once. */
const CACHE = fileURLToPath(
  new URL('../../.cache/hapi-validator-8.8.0', import.meta.url),
);
const OUTPUT_BYTES_MAX = 200_000_000;
const run = promisify(execFile);

export const US_CORE = ['8.0.0', '6.1.0'] as const;
export type UsCore = (typeof US_CORE)[number];

export const validatorMissing = (): string | undefined => javaMissing(CACHE);

export interface Issue {
  /** Name of the Bundle, as it was given. */
  bundle: string;
  severity: 'fatal' | 'error' | 'warning' | 'information';
  /** `MedicationRequest/<id>`; empty for the Bundle itself. */
  resource: string;
  /**
   * The element, without indexes:
   * `MedicationRequest.dispenseRequest.validityPeriod`.
   */
  element: string;
  id: string;
  message: string;
}

/**
 * Validates Bundles with HAPI's validator against FHIR R4 and the profiles that
 * they claim of one guide.
 *
 * @param guide the name of its package in `guides`, without `.tgz`
 */
export async function validate(
  folder: string,
  guide: string,
  bundles: ReadonlyMap<string, object>,
): Promise<Issue[]> {
  buildJava({ project: PROJECT, mainClass: 'Validator', cache: CACHE });
  const input = join(folder, guide, `${(await readdir(folder)).length}`);
  await mkdir(input, { recursive: true });
  for (const [name, bundle] of bundles)
    await writeFile(join(input, `${name}.json`), JSON.stringify(bundle));
  const valueSets = join(PROJECT, 'value-sets.json');
  const classPath = [classPathOf(CACHE), GUIDES].join(delimiter);
  const args = [
    '-Xmx2g',
    '-cp',
    classPath,
    'Validator',
    input,
    `${guide}.tgz`,
    valueSets,
  ];
  const { stdout } = await run('java', args, { maxBuffer: OUTPUT_BYTES_MAX });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => issueOf(JSON.parse(line) as Record<string, string>));
}

function issueOf({
  file = '',
  severity,
  location = '',
  id = '',
  message = '',
}: Record<string, string>): Issue {
  const [, resource = '', rest = ''] =
    /\/\*([A-Za-z]+\/[^*]+)\*\/(.*)$/.exec(location) ?? [];
  const type = resource.split('/')[0] ?? '';
  return {
    bundle: file.replace(/\.json$/, ''),
    severity: severity as Issue['severity'],
    resource,
    element:
      resource === '' ? location : `${type}${rest.replaceAll(/\[\d+\]/g, '')}`,
    id,
    message,
  };
}
