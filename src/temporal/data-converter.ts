import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { KeyRing } from '../lib/key-ring.ts';
import { createEncryptionCodec } from './codec.ts';

const pathOf = (file: string): string =>
  fileURLToPath(new URL(file, import.meta.url));

export const FAILURE_CONVERTER_PATH = pathOf('./failure-converter.cjs');
/**
 * Also for the workflow bundler: failures raised inside a workflow are encoded
 * too, and refused payloads fail there.
 */
export const CONVERTER_PATHS = {
  failureConverterPath: FAILURE_CONVERTER_PATH,
  payloadConverterPath: pathOf('./payload-converter.cjs'),
};

/**
 * Creates the data converter for clients, workers, replay and tools. It
 * encrypts payloads and failures, and accepts only encrypted ones.
 */
export const createDataConverter = (keyRing: KeyRing): DataConverter => ({
  ...CONVERTER_PATHS,
  payloadCodecs: [createEncryptionCodec(keyRing)],
});
