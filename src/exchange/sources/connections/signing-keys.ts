import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { KeyRing } from '../../../lib/key-ring.ts';
import { columnsOf, type Members } from '../../platform/database/columns.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import {
  ASSERTION_ALGORITHMS,
  type AssertionAlgorithm,
  type AssertionSigner,
} from '../connectors/http/auth/token-request.ts';

/**
 * How long a new key is published before it signs, and the old one after it
 * signed last: longer than a JWKS is cached.
 */
const OVERLAP_MS = 24 * 3_600_000;

/**
 * Signs with the keys in PostgreSQL. The first use of an algorithm creates its
 * key.
 */
export function createAssertionSigner(
  store: Pick<Store, 'asSystem'>,
  keyRing: KeyRing,
): AssertionSigner {
  return {
    async sign(claims, algorithm) {
      const { kid, privateKey } = await store.asSystem((tx) =>
        ensureSigningKey(tx, keyRing, algorithm),
      );
      const jwk = JSON.parse(
        keyRing.decrypt(privateKey, purposeOf(kid)).toString('utf8'),
      ) as JWK;
      return new SignJWT(claims)
        .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' })
        .sign(await importJWK(jwk, algorithm));
    },
  };
}

/**
 * Our JWKS: the keys that sign, those that will soon, and those that signed
 * until recently.
 */
export async function readJwks(tx: SystemTx): Promise<{ keys: JWK[] }> {
  const keys = await listPublishedKeys(tx);
  return { keys: keys.map(({ publicJwk }) => publicJwk) };
}

/** Creates the keys that do not exist yet. */
export async function ensureSigningKeys(
  tx: SystemTx,
  keyRing: KeyRing,
): Promise<void> {
  for (const algorithm of ASSERTION_ALGORITHMS)
    await ensureSigningKey(tx, keyRing, algorithm);
}

/**
 * Replaces the keys of all algorithms. The new ones are published now and sign
 * after the overlap; the old ones are published until another overlap later.
 * With `atOnce`, for keys that are no longer secret, the old ones end
 * immediately. Returns the ids of the new keys.
 */
export async function rotateSigningKeys(
  tx: SystemTx,
  keyRing: KeyRing,
  atOnce: boolean,
): Promise<string[]> {
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

async function ensureSigningKey(
  tx: SystemTx,
  keyRing: KeyRing,
  algorithm: AssertionAlgorithm,
) {
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
  const options = {
    extractable: true,
    ...(algorithm === 'RS384' ? { modulusLength: 3072 } : {}),
  };
  const { publicKey, privateKey } = await generateKeyPair(algorithm, options);
  const publicJwk = {
    ...(await exportJWK(publicKey)),
    kid,
    alg: algorithm,
    use: 'sig',
    key_ops: ['verify'],
  };
  const secret = Buffer.from(JSON.stringify(await exportJWK(privateKey)));
  return {
    kid,
    algorithm,
    publicJwk,
    privateKey: keyRing.encrypt(secret, purposeOf(kid)),
  };
}

const purposeOf = (kid: string): string => `source-signing-key/${kid}`;

/**
 * Makes concurrent changes of the keys wait for each other, until the end of
 * the transaction.
 */
async function lockSigningKeys(tx: SystemTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('source_signing_key'))`.execute(
    tx.db,
  );
}

async function insertSigningKey(
  tx: SystemTx,
  key: Awaited<ReturnType<typeof newKey>>,
  delayMs: number,
): Promise<void> {
  await tx.db
    .insertInto('source_signing_key')
    .values({
      ...columnsOf({ ...key, publicJwk: JSON.stringify(key.publicJwk) }),
      signs_from: sql<Date>`now() + ${delayMs} * interval '1 millisecond'`,
    })
    .execute();
}

const isPublished = sql<boolean>`(published_until is null or published_until > now())`;

/** The keys of our JWKS, newest first. */
export async function listPublishedKeys(
  tx: SystemTx,
): Promise<Omit<Members<'source_signing_key'>, 'privateKey' | 'createdAt'>[]> {
  return tx.db
    .selectFrom('source_signing_key')
    .select(['kid', 'algorithm', 'public_jwk as publicJwk'])
    .select(['signs_from as signsFrom', 'published_until as publishedUntil'])
    .where(isPublished)
    .orderBy('signs_from', 'desc')
    .orderBy('kid')
    .execute();
}

/** The key that signs now, its private half still encrypted. */
async function findSigningKey(
  tx: SystemTx,
  algorithm: AssertionAlgorithm,
): Promise<{ kid: string; privateKey: Buffer } | undefined> {
  const row = await tx.db
    .selectFrom('source_signing_key')
    .select(['kid', 'private_key as privateKey'])
    .where('algorithm', '=', algorithm)
    .where('signs_from', '<=', sql<Date>`now()`)
    .where(isPublished)
    .orderBy('signs_from', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.privateKey == null
    ? undefined
    : { kid: row.kid, privateKey: row.privateKey };
}

/**
 * Ends the publication of the present keys of an algorithm after `afterMs`, and
 * destroys keys that ended before.
 */
async function endSigningKeys(
  tx: SystemTx,
  algorithm: AssertionAlgorithm,
  afterMs: number,
): Promise<void> {
  const until = sql<Date>`now() + ${afterMs} * interval '1 millisecond'`;
  await tx.db
    .updateTable('source_signing_key')
    .set({ published_until: sql<Date>`least(published_until, ${until})` })
    .where('algorithm', '=', algorithm)
    .where(isPublished)
    .execute();
  await tx.db
    .updateTable('source_signing_key')
    .set({ private_key: null })
    .where('published_until', '<=', sql<Date>`now()`)
    .execute();
}
