import { parentPort, workerData } from 'node:worker_threads';
import { type CcdaNames, convertCcda } from './convert.ts';

/** What a thread is started with; it answers with one `CcdaConversion` and ends. */
export interface CcdaThreadInput extends CcdaNames {
  bytes: Uint8Array;
}

// The converter names the kinds of values that it does not know; nobody reads that.
console.warn = () => undefined;
const { bytes, ...names } = workerData as CcdaThreadInput;
parentPort?.postMessage(convertCcda(bytes, names));
