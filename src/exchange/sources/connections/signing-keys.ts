import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import type { KeyRing } from '../../../lib/key-ring.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import {
  ASSERTION_ALGORITHMS,
  type AssertionAlgorithm,
  type AssertionSigner,
} from '../connectors/http/auth/client-assertion.ts';
import {
  endSigningKeys,
  findSigningKey,
  insertSigningKey,
  listPublishedKeys,
  lockSigningKeys,
} from './signing-key-store.ts';

/** How long a new key is published before it signs, and the old one after it signed last: longer than a JWKS is cached. */
const OVERLAP_MS = 24 * 3_600_000;

/** Signs with the keys in PostgreSQL. The first use of an algorithm creates its key. */
export function createAssertionSigner(store: Pick<Store, 'asSystem'>, keyRing: KeyRing): AssertionSigner {
  return {
    async sign(claims, algorithm) {
      const { kid, privateKey } = await store.asSystem((tx) => ensureSigningKey(tx, keyRing, algorithm));
      const jwk = JSON.parse(keyRing.decrypt(privateKey, purposeOf(kid)).toString('utf8')) as JWK;
      return new SignJWT(claims)
        .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' })
        .sign(await importJWK(jwk, algorithm));
    },
  };
}

/** Our JWKS: the keys that sign, those that will soon, and those that signed until recently. */
export async function readJwks(tx: SystemTx): Promise<{ keys: JWK[] }> {
  const keys = await listPublishedKeys(tx);
  return { keys: keys.map(({ publicJwk }) => publicJwk) };
}

/** Creates the keys that do not exist yet. */
export async function ensureSigningKeys(tx: SystemTx, keyRing: KeyRing): Promise<void> {
  for (const algorithm of ASSERTION_ALGORITHMS) await ensureSigningKey(tx, keyRing, algorithm);
}

/**
 * Replaces the keys of all algorithms. The new ones are published now and sign after the overlap; the old ones are published
 * until another overlap later. With `atOnce`, for keys that are no longer secret, the old ones end immediately. Returns the ids
 * of the new keys.
 */
export async function rotateSigningKeys(tx: SystemTx, keyRing: KeyRing, atOnce: boolean): Promise<string[]> {
  const kids: string[] = [];
  await lockSigningKeys(tx);
  for (const algorithm of ASSERTION_ALGORITHMS) {
    await endSigningKeys(tx, algorithm, atOnce ? 0 : 2 * OVERLAP_MS);
    const key = await newKey(keyRing, algorithm);
    await insertSigningKey(tx, key, atOnce ? 0 : OVERLAP_MS);
    kids.push(key.kid);
  }
  return kids;
}

async function ensureSigningKey(tx: SystemTx, keyRing: KeyRing, algorithm: AssertionAlgorithm) {
  const known = await findSigningKey(tx, algorithm);
  if (known !== undefined) return known;
  await lockSigningKeys(tx);
  const created = await findSigningKey(tx, algorithm);
  if (created !== undefined) return created;
  const key = await newKey(keyRing, algorithm);
  await insertSigningKey(tx, key, 0);
  return key;
}

async function newKey(keyRing: KeyRing, algorithm: AssertionAlgorithm) {
  const kid = uuidv7();
  const options = { extractable: true, ...(algorithm === 'RS384' ? { modulusLength: 3072 } : {}) };
  const { publicKey, privateKey } = await generateKeyPair(algorithm, options);
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig', key_ops: ['verify'] };
  const secret = Buffer.from(JSON.stringify(await exportJWK(privateKey)));
  return { kid, algorithm, publicJwk, privateKey: keyRing.encrypt(secret, purposeOf(kid)) };
}

const purposeOf = (kid: string): string => `source-signing-key/${kid}`;
