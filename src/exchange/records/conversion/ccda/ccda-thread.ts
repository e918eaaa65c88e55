import { parentPort } from 'node:worker_threads';
import { type CcdaConversion, type CcdaNames, convertCcda } from './convert.ts';

export type CcdaOutcome = CcdaConversion | { kind: 'failed'; reason: string };

/**
 * A message to the thread, which answers each with one `CcdaOutcome`, in order.
 */
export interface CcdaJob extends CcdaNames {
  bytes: Uint8Array;
}

parentPort?.on('message', ({ bytes, ...names }: CcdaJob) => {
  parentPort?.postMessage(outcomeOf(bytes, names));
});

function outcomeOf(bytes: Uint8Array, names: CcdaNames): CcdaOutcome {
  try {
    return convertCcda(bytes, names);
  } catch {
    return {
      kind: 'failed',
      reason: 'it is not well-formed, or not as C-CDA prescribes',
    };
  }
}
