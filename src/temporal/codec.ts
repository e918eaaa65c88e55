import type { Payload, PayloadCodec } from '@temporalio/common';
import { decode, encode } from '@temporalio/common/lib/encoding.js';
import type { KeyRing } from '../lib/key-ring.ts';
import { Payload as PayloadMessage } from './proto.ts';

const ENCODING = 'binary/encrypted';
const ENCODING_KEY = 'encoding';
const KEY_ID_KEY = 'encryption-key-id';
/**
 * Binds the ciphertext to its use, so that an encrypted blob does not decrypt
 * as a payload.
 */
const PURPOSE = 'temporal-payload';

/**
 * Stands for a payload that was not encrypted. payload-converter.cjs makes a
 * value of it that fails.
 */
const REFUSED: Payload = { metadata: { [ENCODING_KEY]: encode('refused') } };

/**
 * Encrypts every payload, including its metadata, before it leaves the process.
 * The metadata of the result contains the key id, so that histories written
 * before a key rotation stay readable. A payload that is not encrypted was not
 * written by us, so its content is dropped, unless the key ring or
 * `acceptsPlain` (for tools that show payloads) says otherwise.
 */
export function createEncryptionCodec(
  keyRing: KeyRing,
  { acceptsPlain = keyRing.acceptsPlain } = {},
): PayloadCodec {
  const decode = (payload: Payload): Payload => {
    if (textOf(payload, ENCODING_KEY) === ENCODING)
      return decrypt(payload, keyRing);
    return acceptsPlain ? payload : REFUSED;
  };
  return {
    encode: async (payloads) =>
      payloads.map((payload) => encrypt(payload, keyRing)),
    decode: async (payloads) => payloads.map(decode),
  };
}

function encrypt(payload: Payload, keyRing: KeyRing): Payload {
  const { keyId, sealed } = keyRing.seal(
    PayloadMessage.encode(payload).finish(),
    PURPOSE,
  );
  return {
    metadata: { [ENCODING_KEY]: encode(ENCODING), [KEY_ID_KEY]: encode(keyId) },
    data: sealed,
  };
}

/**
 * Throws DecryptionError when the key is not in the key ring or the data was
 * changed.
 */
function decrypt(payload: Payload, keyRing: KeyRing): Payload {
  const plain = keyRing.open(
    textOf(payload, KEY_ID_KEY),
    payload.data ?? new Uint8Array(),
    PURPOSE,
  );
  return PayloadMessage.decode(plain);
}

const textOf = (payload: Payload, key: string): string => {
  const bytes = payload.metadata?.[key];
  return bytes === undefined || bytes === null ? '' : decode(bytes);
};
