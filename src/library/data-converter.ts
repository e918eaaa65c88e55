/**
 * Keeps personal data out of Temporal: the data converter encrypts every
 * payload and failure, and opaque ids replace values that stay in clear text
 * (workflow ids, search attributes). All clients and workers of a namespace
 * need the same keys.
 */

export {
  DecryptionError,
  type KeyRing,
  parseKeyRing,
} from '../lib/key-ring.ts';
export { opaqueId } from '../temporal/client.ts';
export {
  CONVERTER_PATHS,
  createDataConverter,
  FAILURE_CONVERTER_PATH,
} from '../temporal/data-converter.ts';
