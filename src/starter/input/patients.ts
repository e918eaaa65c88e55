import { readFile } from 'node:fs/promises';
import { loadSamplePatients } from '../../simulator/samples.ts';
import { UsageError } from '../errors.ts';

/** A person to onboard, under a name for the terminal that the user gave. */
export interface PatientToOnboard {
  label: string;
  /** As the body of E4; not checked yet. */
  patient: unknown;
}

/** By the keys of samples (`all` for each of them) or from a file. Throws UsageError. */
export async function patientsToOnboard(options: {
  sample?: readonly string[];
  file?: string;
}): Promise<PatientToOnboard[]> {
  const { sample, file } = options;
  if ((sample === undefined) === (file === undefined))
    throw new UsageError('Give either --sample <key> or --file <patient.json>.');
  return file === undefined
    ? samplePatients(sample ?? [])
    : [{ label: 'patient', patient: await readPatient(file) }];
}

function samplePatients(keys: readonly string[]): PatientToOnboard[] {
  const samples = loadSamplePatients();
  const unknown = keys.filter((key) => key !== 'all' && !samples.some((sample) => sample.key === key));
  if (unknown.length > 0)
    throw new UsageError(
      `No sample is called ${unknown.join(', ')}. There are:\n${samples.map(({ key }) => `  ${key}`).join('\n')}`,
    );
  return samples
    .filter(({ key }) => keys.includes('all') || keys.includes(key))
    .map(({ key, createBody }) => ({ label: key, patient: createBody }));
}

async function readPatient(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code ?? 'unknown reason'}).`);
  });
  try {
    return JSON.parse(text);
  } catch {
    // What the parser says would quote the file.
    throw new UsageError(`${file} is not JSON.`);
  }
}
