import { createHash, randomBytes } from 'node:crypto';

/**
 * A key as callers hold it: `mdx_<8 characters>_<43 characters>`. The fixed prefix lets secret scanners find a
 * leaked one, the 8 characters let people tell keys apart. Only its hash is stored; the secret has 256 bits, so a
 * plain SHA-256 gives nothing away and a look-up by it leaks no useful timing.
 */
const API_KEY = /^mdx_([A-Za-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

export interface ApiKeyParts {
  /** Shown to people. */
  prefix: string;
  /** Stored and looked up. */
  hash: Buffer;
}

export function generateApiKey(): string {
  return `mdx_${randomBytes(4).toString('hex')}_${randomBytes(32).toString('base64url')}`;
}

export function parseApiKey(key: string): ApiKeyParts | undefined {
  const match = API_KEY.exec(key);
  if (match?.[1] === undefined) return undefined;
  return { prefix: `mdx_${match[1]}`, hash: createHash('sha256').update(key).digest() };
}
