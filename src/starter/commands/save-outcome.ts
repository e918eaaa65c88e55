import type { BulkResult, FileRef } from '../../contract/bulk-onboarding.ts';
import type { FileStore } from '../../orchestrator/bulk-onboarding/file-store.ts';
import { saveAside } from '../output/save-aside.ts';

/** Paths of the result files of a bulk onboarding. */
export interface SavedOutcome {
  /** The exchange's result CSV: all rows with patient id, status and reason. */
  result: string;
  /** Patient ids by external id. */
  patients?: string;
  /** The failed rows, to correct and send again. */
  corrections?: string;
}

/** Saves the result files. @param output their path without the ending: `<output>.result.csv` and so on */
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
