import type { JWK } from 'jose';
import { sql } from 'kysely';
import type { SystemTx } from '../../platform/database/database.ts';
import type { AssertionAlgorithm } from '../connectors/http/auth/client-assertion.ts';

export interface NewSigningKey {
  kid: string;
  algorithm: AssertionAlgorithm;
  publicJwk: JWK;
  privateKey: Buffer;
}

export interface StoredSigningKey {
  kid: string;
  algorithm: AssertionAlgorithm;
  publicJwk: JWK;
  signsFrom: Date;
  publishedUntil: Date | null;
}

/** Makes concurrent changes of the keys wait for each other, until the end of the transaction. */
export async function lockSigningKeys(tx: SystemTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('source_signing_key'))`.execute(tx.db);
}

export async function insertSigningKey(tx: SystemTx, key: NewSigningKey, delayMs: number): Promise<void> {
  await tx.db
    .insertInto('source_signing_key')
    .values({
      kid: key.kid,
      algorithm: key.algorithm,
      public_jwk: JSON.stringify(key.publicJwk),
      private_key: key.privateKey,
      signs_from: sql<Date>`now() + ${delayMs} * interval '1 millisecond'`,
    })
    .execute();
}

const isPublished = sql<boolean>`(published_until is null or published_until > now())`;

/** The keys of our JWKS, newest first. */
export async function listPublishedKeys(tx: SystemTx): Promise<StoredSigningKey[]> {
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
export async function findSigningKey(
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
  return row?.privateKey == null ? undefined : { kid: row.kid, privateKey: row.privateKey };
}

/** Ends the publication of the present keys of an algorithm after `afterMs`, and destroys keys that ended before. */
export async function endSigningKeys(
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
