import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChainRow } from './chain-store.ts';

/** The end of an account's chain at some time, as it is kept outside of the database. */
export interface AuditHead {
  accountId: string;
  /** Of the last row; the rows before it are 1 to this, without gaps. */
  position: number;
  /** Hex, of the last row. */
  mac: string;
  /** ISO 8601. */
  sealedAt: string;
  /** The account is gone with a restore from a backup: who said so, why, and when (ISO 8601). */
  gone?: { at: string; by: string; reason: string };
}

export interface SignedAuditHead extends AuditHead {
  /** Hex. */
  signature: string;
}

/** Before the first row. */
export const CHAIN_START = Buffer.alloc(0);

/** The keyed MACs (HMAC-SHA256) that make an account's audit a chain. Who has not the key cannot continue or mend it. */
export interface AuditChain {
  /** Of a row at its position, after the row whose MAC is `previous`. */
  macOf(previous: Buffer, row: ChainRow, position: number): Buffer;
  /** Whether the row's MAC is that of its content, its position and all rows before it. */
  holds(previous: Buffer, row: ChainRow): boolean;
  sign(head: AuditHead): SignedAuditHead;
  isSigned(head: SignedAuditHead): boolean;
}

/** The first key seals, all of them verify. */
export function createAuditChain(keys: readonly string[]): AuditChain {
  const [sealingKey] = keys;
  if (sealingKey === undefined) throw new Error('the audit cannot be sealed without a key');
  return {
    macOf: (previous, row, position) => rowMac(sealingKey, previous, row, position),
    holds: (previous, row) =>
      keys.some((key) => isSame(rowMac(key, previous, row, row.position ?? 0), row.mac)),
    sign: (head) => ({ ...head, signature: headMac(sealingKey, head).toString('hex') }),
    isSigned: (head) => keys.some((key) => isSame(headMac(key, head), Buffer.from(head.signature, 'hex'))),
  };
}

/** JSON keeps the members apart, whatever is in them; the first word keeps rows and heads apart. */
const rowMac = (key: string, previous: Buffer, row: ChainRow, position: number): Buffer =>
  mac(key, [
    'entry',
    previous.toString('hex'),
    ...[row.accountId, position, row.id, row.at, row.actor, row.operation],
    ...[row.patientId, row.targetId, row.outcome, row.remoteAddress],
    ...lateMembers(row),
  ]);

/** Columns that came later: rows that say nothing in them have the MAC that they had before. */
const lateMembers = ({ times, since, details }: ChainRow): (string | number | null)[] =>
  times === 1 && since === null && details === null ? [] : [times, since, details];

const headMac = (key: string, { accountId, position, mac: last, sealedAt, gone }: AuditHead): Buffer =>
  mac(key, [
    ...['head', accountId, position, last, sealedAt],
    ...(gone === undefined ? [] : [gone.at, gone.by, gone.reason]),
  ]);

const mac = (key: string, members: readonly (string | number | null)[]): Buffer =>
  createHmac('sha256', key).update(JSON.stringify(members)).digest();

const isSame = (expected: Buffer, given: Buffer | null): boolean =>
  given !== null && given.length === expected.length && timingSafeEqual(expected, given);
