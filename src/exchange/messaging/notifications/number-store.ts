import { sql } from 'kysely';
import type { SubjectNumber } from '#hl7v2-to-fhir';
import type { SystemTx } from '../../platform/database/database.ts';
import { senderKey } from './match.ts';

/** A number as it is stored: keyed hashes. */
export interface NumberKey {
  numberKey: Buffer;
  /** Empty where the message names none. */
  authorityKey: Buffer;
  role: SubjectNumber['role'];
}

const NONE = Buffer.alloc(0);

export function numberKeysOf(
  idHmacKey: string,
  sender: string,
  numbers: readonly SubjectNumber[] = [],
): NumberKey[] {
  const keys = numbers.map(({ of, value, authority, role }) => ({
    numberKey: senderKey(idHmacKey, sender, `number of ${of}`, value),
    authorityKey:
      authority === undefined
        ? NONE
        : senderKey(idHmacKey, sender, 'authority', authority),
    role,
  }));
  return [...new Map(keys.map((key) => [nameOf(key), key])).values()];
}

const nameOf = ({ numberKey, authorityKey, role }: NumberKey): string =>
  [numberKey.toString('hex'), authorityKey.toString('hex'), role].join();

/**
 * Locks numbers until the transaction ends, so that two messages that name one
 * of them for the first time find each other.
 */
export async function lockNumbers(
  tx: SystemTx,
  keys: readonly NumberKey[],
): Promise<void> {
  const names = [
    ...new Set(keys.map(({ numberKey }) => numberKey.toString('hex'))),
  ].sort();
  if (names.length === 0) return;
  await sql`select pg_advisory_xact_lock(hashtextextended(name, 0))
    from unnest(${names}::text[]) with ordinality as n(name, place) order by place`.execute(
    tx.db,
  );
}

export async function insertNumbers(
  tx: SystemTx,
  { sender, subjectId }: { sender: string; subjectId: string },
  keys: readonly NumberKey[],
): Promise<void> {
  if (keys.length === 0) return;
  await tx.db
    .insertInto('inbound_number')
    .values(
      keys.map(({ numberKey, authorityKey, role }) => ({
        subject_id: subjectId,
        sender,
        number_key: numberKey,
        authority_key: authorityKey,
        role,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function readNumbers(
  tx: SystemTx,
  subjectId: string,
): Promise<NumberKey[]> {
  return tx.db
    .selectFrom('inbound_number')
    .select([
      'number_key as numberKey',
      'authority_key as authorityKey',
      'role',
    ])
    .where('subject_id', '=', subjectId)
    .execute();
}

/** Numbers that a search begins with, and the roles that it finds. */
export interface NumberSearch {
  sender: string;
  keys: readonly NumberKey[];
  roles: readonly SubjectNumber['role'][];
}

/**
 * The subjects with one of these numbers in one of these roles. Where both name
 * an authority, it is the same.
 */
export async function subjectsWithNumber(
  tx: SystemTx,
  { sender, keys, roles }: NumberSearch,
): Promise<string[]> {
  const found = new Set<string>();
  for (const { numberKey, authorityKey } of keys) {
    const { rows } = await sql<{ subjectId: string }>`
      select distinct subject_id as "subjectId" from inbound_number
      where sender = ${sender} and number_key = ${numberKey} and role = any(${[...roles]}::text[])
        and (authority_key = ${authorityKey} or authority_key = ''::bytea or ${authorityKey}::bytea = ''::bytea)
      limit 50`.execute(tx.db);
    for (const { subjectId } of rows) found.add(subjectId);
  }
  return [...found].sort();
}
