import {
  createHash,
  createHmac,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { promisify } from 'node:util';
import { CompactEncrypt } from 'jose';

/** Path below the public base URL. */
export const HEALTH_LINK_PATH = '/shl';
export const VIEWER_PATH = `${HEALTH_LINK_PATH}/view`;
/**
 * The specification allows no longer address, because it is part of a QR
 * picture.
 */
const URL_LENGTH_MAX = 128;
const FHIR_JSON = 'application/fhir+json';

/**
 * 256 random bits in base64url: the part of a link's address that cannot be
 * guessed.
 */
export const newSecret = (): string => randomBytes(32).toString('base64url');
export const SECRET = /^[A-Za-z0-9_-]{43}$/;

/**
 * The key of a link's files: derived from its secret, so that the database
 * alone, or our own key alone, opens nothing. Nothing stores it.
 */
export const healthLinkKey = (linkSigningKey: string, secret: string): Buffer =>
  createHmac('sha256', linkSigningKey)
    .update('health link')
    .update(secret)
    .digest();

export const sha256 = (of: string | Buffer): Buffer =>
  createHash('sha256').update(of).digest();

/**
 * The link as text (`shlink:/…`,
 * https://docs.smarthealthit.org/smart-health-links/spec): address, key, end
 * and flags. `L`: its content changes with the record; `P`: with a passcode.
 * Undefined if the address would be too long.
 */
export function shlinkOf(
  publicBaseUrl: string,
  of: {
    secret: string;
    key: Buffer;
    expiresAt: Date;
    label?: string;
    passcode?: string;
    isOneTime: boolean;
  },
): string | undefined {
  const url = `${publicBaseUrl}${HEALTH_LINK_PATH}/${of.secret}`;
  const flag =
    `${of.isOneTime ? '' : 'L'}${of.passcode === undefined ? '' : 'P'}` ||
    undefined;
  const exp = Math.floor(of.expiresAt.getTime() / 1000);
  const payload = {
    url,
    key: of.key.toString('base64url'),
    exp,
    flag,
    label: of.label,
    v: 1,
  };
  if (url.length > URL_LENGTH_MAX) return undefined;
  return `shlink:/${Buffer.from(JSON.stringify(payload)).toString('base64url')}`;
}

/**
 * A file of a link: JWE. Not compressed, because widespread clients refuse to
 * unpack more than 250 kB.
 */
export const encrypted = (key: Buffer, content: string): Promise<string> =>
  new CompactEncrypt(Buffer.from(content))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', cty: FHIR_JSON })
    .encrypt(key);

const hashed = promisify<string, Buffer, number, Buffer>(scrypt);
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const passcodeHash = (passcode: string, salt: Buffer): Promise<Buffer> =>
  hashed(passcode.normalize('NFKC'), salt, HASH_BYTES);

/** Salt and scrypt hash of a passcode. */
export async function storedPasscode(passcode: string): Promise<Buffer> {
  const salt = randomBytes(SALT_BYTES);
  return Buffer.concat([salt, await passcodeHash(passcode, salt)]);
}

export async function isPasscode(
  stored: Buffer,
  given: string,
): Promise<boolean> {
  const hash = await passcodeHash(given, stored.subarray(0, SALT_BYTES));
  return timingSafeEqual(hash, stored.subarray(SALT_BYTES));
}
