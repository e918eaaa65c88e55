import { sql } from 'kysely';
import type { KeyRing } from '../../../lib/key-ring.ts';
import type { AccountTx, SystemTx } from '../database/database.ts';

/**
 * How long the response under a key is returned again (docs/interface.md,
 * Requests).
 */
const KEEP_HOURS = 24;
/**
 * A request without a response after this time was interrupted; its key can be
 * used again.
 */
const RUNNING_SECONDS_MAX = 60;

/**
 * A response stored under an idempotency key; `answer` is the content as
 * `ResponseSeal` stores it.
 */
interface StoredResponse {
  status: number;
  patientId?: string;
  answer: unknown;
}

export type KeyClaim =
  | { kind: 'claimed' }
  | { kind: 'running' }
  | { kind: 'other-request' }
  | { kind: 'answered'; kept: StoredResponse };

/**
 * Claims a key for a request, or returns why it cannot be claimed. Until this
 * transaction ends, another claim of the key returns `running` at once instead
 * of waiting.
 */
export async function claimIdempotencyKey(
  tx: AccountTx,
  keyHash: Buffer,
  requestHash: Buffer,
): Promise<KeyClaim> {
  // A statement of its own: the next statement must see what the previous
  // holder of the lock committed.
  const lock = await sql<{ held: boolean }>`
    select pg_try_advisory_xact_lock(${keyHash.readBigInt64BE(0).toString()}::bigint) as held`.execute(
    tx.db,
  );
  if (lock.rows[0]?.held !== true) return { kind: 'running' };

  const known = await tx.db
    .selectFrom('idempotency_key')
    .select(['request_hash', 'status', 'answer', 'patient_id'])
    .select(
      sql<number>`extract(epoch from now() - created_at)::float8`.as(
        'age_seconds',
      ),
    )
    .where('key_hash', '=', keyHash)
    .executeTakeFirst();
  if (known !== undefined && known.age_seconds < KEEP_HOURS * 3600) {
    if (!known.request_hash.equals(requestHash))
      return { kind: 'other-request' };
    const { status, answer, patient_id: patientId } = known;
    if (status !== null)
      return {
        kind: 'answered',
        kept: { status, patientId: patientId ?? undefined, answer },
      };
    if (known.age_seconds < RUNNING_SECONDS_MAX) return { kind: 'running' };
  }
  const fresh = {
    request_hash: requestHash,
    status: null,
    answer: null,
    patient_id: null,
    created_at: sql<Date>`now()`,
  };
  await tx.db
    .insertInto('idempotency_key')
    .values({ account_id: tx.accountId, key_hash: keyHash, ...fresh })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'key_hash']).doUpdateSet(fresh),
    )
    .execute();
  return { kind: 'claimed' };
}

/**
 * Stores the response of a claimed key. `sealed`: its encrypted content. It is
 * deleted together with the patient.
 */
export async function storeResponse(
  tx: AccountTx,
  keyHash: Buffer,
  {
    status,
    sealed,
    patientId,
  }: { status: number; sealed: string; patientId?: string },
): Promise<void> {
  await tx.db
    .updateTable('idempotency_key')
    .set({
      status,
      answer: JSON.stringify({ sealed }),
      patient_id: patientId ?? null,
    })
    .where('key_hash', '=', keyHash)
    .execute();
}

/** Releases the key of a request that failed, so that it can be used again. */
export async function releaseIdempotencyKey(
  tx: AccountTx,
  keyHash: Buffer,
): Promise<void> {
  await tx.db
    .deleteFrom('idempotency_key')
    .where('key_hash', '=', keyHash)
    .where('status', 'is', null)
    .execute();
}

/** Deletes at most `limit` expired keys; returns their number. */
export async function deleteOldIdempotencyKeys(
  tx: SystemTx,
  limit: number,
): Promise<number> {
  const deleted = await sql`
    delete from idempotency_key where (account_id, key_hash) in (
      select account_id, key_hash from idempotency_key
      where created_at < now() - make_interval(hours => ${KEEP_HOURS}) order by created_at limit ${limit})`.execute(
    tx.db,
  );
  return Number(deleted.numAffectedRows ?? 0);
}

/** The parts of a response that are stored encrypted. */
interface ResponseContent {
  body: unknown;
  headers: Record<string, string>;
}

export type ResponseSeal = ReturnType<typeof createResponseSeal>;

const purposeOf = (keyHash: Buffer): string =>
  `idempotency-answer/${keyHash.toString('hex')}`;

/**
 * Encrypts the responses stored under idempotency keys with the key ring,
 * because some contain a secret (an embed token, a webhook key). Each can be
 * decrypted only with its own idempotency key's hash.
 */
export const createResponseSeal = (ring: KeyRing) => ({
  seal: (keyHash: Buffer, { body, headers }: ResponseContent) =>
    ring
      .encrypt(
        Buffer.from(JSON.stringify({ body: body ?? null, headers })),
        purposeOf(keyHash),
      )
      .toString('base64'),
  /** Throws DecryptionError. */
  open(keyHash: Buffer, stored: unknown): ResponseContent {
    const { sealed } = stored as { sealed: string };
    return JSON.parse(
      ring
        .decrypt(Buffer.from(sealed, 'base64'), purposeOf(keyHash))
        .toString(),
    );
  },
});
