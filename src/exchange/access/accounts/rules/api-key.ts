import { createHash, randomBytes } from 'node:crypto';

/**
 * The format of an API key: `mdx_<8 characters>_<43 characters>`. The fixed
 * prefix lets secret scanners find leaked keys; the 8 characters let people
 * distinguish keys. Only the hash is stored. Because the secret has 256 bits, a
 * plain SHA-256 is sufficient, and looking it up leaks no useful timing.
 */
const API_KEY = /^mdx_([A-Za-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

export interface ApiKeyParts {
  /** Shown to operators. */
  prefix: string;
  /** SHA-256 of the key. */
  hash: Buffer;
}

export function generateApiKey(): string {
  return `mdx_${randomBytes(4).toString('hex')}_${randomBytes(32).toString('base64url')}`;
}

/** Undefined if the text is not an API key. */
export function parseApiKey(key: string): ApiKeyParts | undefined {
  const match = API_KEY.exec(key);
  if (match?.[1] === undefined) return undefined;
  return {
    prefix: `mdx_${match[1]}`,
    hash: createHash('sha256').update(key).digest(),
  };
}
