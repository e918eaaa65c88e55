import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ConfigError } from '../config.ts';

/**
 * AES-256-GCM with random nonces. NIST SP 800-38D allows at most 2^32 messages
 * per key, so rotate before that.
 */
const ALGORITHM = 'aes-256-gcm';
const KEY_SIZE_BYTES = 32;
const NONCE_SIZE_BYTES = 12;
const TAG_SIZE_BYTES = 16;
/**
 * Format of `encrypt`: 1 byte version, 1 byte length of the key id, key id,
 * then nonce | ciphertext | tag.
 */
const FORMAT_VERSION = 1;

/** How many bytes `seal` adds to the plain bytes: nonce and tag. */
export const SEAL_OVERHEAD_BYTES = NONCE_SIZE_BYTES + TAG_SIZE_BYTES;

/**
 * Data cannot be decrypted. The message may contain the key id, but never the
 * content.
 */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
}

const ACCEPT_PLAIN = 'accept-plain';

/**
 * Parses DATA_KEYS: entries of the form `id:<base64 of 32 bytes>`, and perhaps
 * `accept-plain`, separated by blanks. Throws ConfigError without the keys.
 */
export function parseKeyRing(text: string): KeyRing {
  const entries = text.trim().split(/\s+/).filter(Boolean);
  const keys = new Map<string, Buffer>();
  for (const [index, entry] of entries
    .filter((entry) => entry !== ACCEPT_PLAIN)
    .entries()) {
    const match = /^([A-Za-z0-9._-]{1,64}):([A-Za-z0-9+/_-]+={0,2})$/.exec(
      entry,
    );
    if (match?.[1] === undefined || match[2] === undefined)
      throw new ConfigError(
        `DATA_KEYS: entry ${index + 1} must have the form id:base64`,
      );
    const [, id, base64] = match;
    const key = Buffer.from(base64, 'base64');
    if (key.length !== KEY_SIZE_BYTES)
      throw new ConfigError(
        `DATA_KEYS: key "${id}" has ${key.length} bytes; ${KEY_SIZE_BYTES} are required`,
      );
    if (key.every((byte) => byte === key[0]))
      throw new ConfigError(
        `DATA_KEYS: key "${id}" is not random; make one with: openssl rand -base64 32`,
      );
    if (keys.has(id))
      throw new ConfigError(`DATA_KEYS: key "${id}" appears twice`);
    keys.set(id, key);
  }
  const primary = keys.entries().next().value;
  if (primary === undefined) throw new ConfigError('DATA_KEYS contains no key');
  return new KeyRing(
    primary[0],
    primary[1],
    keys,
    entries.includes(ACCEPT_PLAIN),
  );
}

/**
 * A list of keys: the first one encrypts, all of them decrypt. To rotate, put a
 * new key in front.
 */
export class KeyRing {
  readonly #primaryKey: Buffer;
  readonly #keys: ReadonlyMap<string, Buffer>;

  readonly primaryKeyId: string;
  /**
   * Whether payloads in Temporal that are not encrypted are accepted: the
   * entry `accept-plain`, for the days of a migration.
   */
  readonly acceptsPlain: boolean;

  constructor(
    primaryKeyId: string,
    primaryKey: Buffer,
    keys: ReadonlyMap<string, Buffer>,
    acceptsPlain: boolean,
  ) {
    this.primaryKeyId = primaryKeyId;
    this.acceptsPlain = acceptsPlain;

    // Private to the language, not only to TypeScript: no log of an object that
    // holds the ring shows a key.
    this.#primaryKey = primaryKey;
    this.#keys = keys;
  }

  /**
   * Returns ciphertext that contains the id of its key. `decrypt` needs the
   * same `purpose`.
   */
  encrypt(plain: Uint8Array, purpose = ''): Buffer {
    const { keyId, sealed } = this.seal(plain, purpose);
    const id = Buffer.from(keyId, 'utf8');
    return Buffer.concat([Buffer.of(FORMAT_VERSION, id.length), id, sealed]);
  }

  /**
   * Throws DecryptionError when the key is unknown, the bytes are damaged, or
   * the purpose differs.
   */
  decrypt(encrypted: Uint8Array, purpose = ''): Buffer {
    const bytes = asBuffer(encrypted);
    const idLength = bytes[1];
    if (bytes[0] !== FORMAT_VERSION || idLength === undefined)
      throw new DecryptionError(
        'The data is not encrypted by a key ring of this system',
      );
    return this.open(
      bytes.toString('utf8', 2, 2 + idLength),
      bytes.subarray(2 + idLength),
      purpose,
    );
  }

  /**
   * Returns nonce | ciphertext | tag, for formats that store the key id
   * elsewhere.
   */
  seal(plain: Uint8Array, purpose = ''): { keyId: string; sealed: Buffer } {
    const nonce = randomBytes(NONCE_SIZE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#primaryKey, nonce, {
      authTagLength: TAG_SIZE_BYTES,
    });
    cipher.setAAD(Buffer.from(purpose, 'utf8'));
    const sealed = Buffer.concat([
      nonce,
      cipher.update(plain),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return { keyId: this.primaryKeyId, sealed };
  }

  open(keyId: string, sealed: Uint8Array, purpose = ''): Buffer {
    const key = this.#keys.get(keyId);
    if (key === undefined)
      throw new DecryptionError(
        `The data is encrypted with a key that DATA_KEYS does not hold${/^[A-Za-z0-9._-]{1,64}$/.test(keyId) ? `: "${keyId}"` : ''}`,
      );
    const bytes = asBuffer(sealed);
    if (bytes.length < SEAL_OVERHEAD_BYTES)
      throw new DecryptionError('The encrypted data is truncated');
    const tagStart = bytes.length - TAG_SIZE_BYTES;
    const decipher = createDecipheriv(
      ALGORITHM,
      key,
      bytes.subarray(0, NONCE_SIZE_BYTES),
      {
        authTagLength: TAG_SIZE_BYTES,
      },
    );
    decipher.setAAD(Buffer.from(purpose, 'utf8'));
    decipher.setAuthTag(bytes.subarray(tagStart));
    try {
      return Buffer.concat([
        decipher.update(bytes.subarray(NONCE_SIZE_BYTES, tagStart)),
        decipher.final(),
      ]);
    } catch {
      throw new DecryptionError(
        `The data does not decrypt with key "${keyId}": it is damaged, meant for another purpose, or the key was replaced under the same id`,
      );
    }
  }
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
