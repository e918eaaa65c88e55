import type { BulkResult, FileRef } from '../../contract/bulk-onboarding.ts';
import type { FileStore } from '../../orchestrator/bulk-onboarding/file-store.ts';
import { saveAside } from '../output/save-aside.ts';

/** Paths of what came of a bulk onboarding. */
export interface SavedOutcome {
  /** Every row with its patient id, status and reason, as the exchange gave it. */
  result: string;
  /** Patient ids by external id. */
  patients?: string;
  /** The rows to correct. */
  corrections?: string;
}

/** @param output path and beginning of the names, as in `<output>.result.csv` */
export async function saveOutcome(
  { result, patients, corrections }: BulkResult,
  output: string,
  files: FileStore,
): Promise<SavedOutcome> {
  const save = async ({ ref, sha256 }: FileRef, name: string): Promise<string> =>
    saveAside(`${output}.${name}.csv`, await files.get(ref), sha256);
  return {
    result: await save(result, 'result'),
    patients: patients && (await save(patients, 'patients')),
    corrections: corrections && (await save(corrections, 'corrections')),
  };
}
