import { parentPort } from 'node:worker_threads';
import type { CcdaConversion, CcdaNames } from '#ccda-to-fhir';
import { convertDatedCcda } from './ccda-conversion.ts';

export type CcdaOutcome = CcdaConversion | { kind: 'failed'; reason: string };

/**
 * A message to the thread, which answers each with one `CcdaOutcome`, in order.
 */
export interface CcdaJob extends CcdaNames {
  bytes: Uint8Array;
}

parentPort?.on('message', ({ bytes, ...names }: CcdaJob) => {
  parentPort?.postMessage(conversionOutcome(bytes, names));
});

function conversionOutcome(bytes: Uint8Array, names: CcdaNames): CcdaOutcome {
  try {
    return convertDatedCcda(bytes, names);
  } catch {
    return {
      kind: 'failed',
      reason: 'it is not well-formed, or not as C-CDA prescribes',
    };
  }
}
