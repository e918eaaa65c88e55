import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { KeyRing } from '../lib/key-ring.ts';
import { createEncryptionCodec } from './codec.ts';

/** Also given to the workflow bundler, so that failures raised inside a workflow are encoded too. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(new URL('./failure-converter.cjs', import.meta.url));

/** Creates the data converter for clients, workers, replay and tools. It encrypts payloads and failures. */
export function createDataConverter(keyRing: KeyRing): DataConverter {
  return { failureConverterPath: FAILURE_CONVERTER_PATH, payloadCodecs: [createEncryptionCodec(keyRing)] };
}
