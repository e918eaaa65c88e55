/**
 * What keeps people out of Temporal: the data converter that encrypts every payload and failure, and opaque ids for what
 * stays in clear text (workflow ids, search attributes). Clients and workers of a namespace need the same keys.
 */

export { DecryptionError, type KeyRing, parseKeyRing } from '../lib/key-ring.ts';
export { createDataConverter, FAILURE_CONVERTER_PATH } from '../temporal/data-converter.ts';
export { opaqueId } from '../temporal/opaque-id.ts';
