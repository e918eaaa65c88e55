import { loadSamplePatients } from '../../local-stack/sample-patients.ts';
import { UsageError } from '../errors.ts';
import { readInputFile } from './panel-file.ts';

/**
 * A patient to onboard. The label is printed in place of the patient's name.
 */
export interface PatientToOnboard {
  label: string;
  /** The body of "E4. Create patient", not validated yet. */
  patient: unknown;
}

/**
 * Returns sample patients by their keys (`all`: every sample), or the patient
 * of a file. Throws UsageError.
 */
export async function patientsToOnboard(options: {
  sample?: readonly string[];
  file?: string;
}): Promise<PatientToOnboard[]> {
  const { sample, file } = options;
  if ((sample === undefined) === (file === undefined))
    throw new UsageError(
      'Pass either --sample <key> or --file <patient.json>.',
    );
  return file === undefined
    ? samplePatients(sample ?? [])
    : [{ label: 'patient', patient: await readInputJson(file) }];
}

/**
 * Returns the sample patient of a key. Throws UsageError, which lists the keys.
 */
export function findSample(key: string) {
  const samples = loadSamplePatients();
  const sample = samples.find((known) => known.key === key);
  if (sample !== undefined) return sample;
  throw new UsageError(
    `There is no sample patient ${key}. The sample patients are:\n${samples.map((known) => `  ${known.key}`).join('\n')}`,
  );
}

function samplePatients(keys: readonly string[]): PatientToOnboard[] {
  for (const key of keys) if (key !== 'all') findSample(key);
  return loadSamplePatients()
    .filter(({ key }) => keys.includes('all') || keys.includes(key))
    .map(({ key, createBody }) => ({ label: key, patient: createBody }));
}

/** The content of a JSON file that the caller names. Throws UsageError. */
export async function readInputJson(file: string): Promise<unknown> {
  const content = await readInputFile(file);
  try {
    return JSON.parse(content.toString('utf8'));
  } catch {
    // The parser's own message would quote the file.
    throw new UsageError(`${file} is not valid JSON.`);
  }
}
