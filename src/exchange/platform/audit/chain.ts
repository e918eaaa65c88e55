import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ChainRow } from './chain-store.ts';

/**
 * The end of an account's chain at some time, stored outside the database (the
 * external head).
 */
const headSchema = z.object({
  accountId: z.uuid(),
  /** Position of the last entry. Positions start at 1 and have no gaps. */
  position: z.number().int(),
  /** MAC of the last entry, in hex. */
  mac: z.string(),
  /** ISO 8601. */
  sealedAt: z.string(),
  /**
   * Present if an operator stated that a restore removed the account: operator,
   * reason and time (ISO 8601).
   */
  gone: z
    .object({ at: z.string(), by: z.string(), reason: z.string() })
    .optional(),
});
export type AuditHead = z.output<typeof headSchema>;

/** `signature`: HMAC of the head, in hex. */
export const signedHeadSchema = headSchema.extend({ signature: z.string() });
export type SignedAuditHead = z.output<typeof signedHeadSchema>;

/** The MAC that precedes the first entry. */
export const CHAIN_START = Buffer.alloc(0);

export type AuditChain = ReturnType<typeof createAuditChain>;

/**
 * The MACs (HMAC-SHA256) that chain an account's audit entries. Without the
 * key, the chain can be neither extended nor repaired. Seals with the first key
 * and verifies with any of them. Throws if there is none.
 */
export function createAuditChain(keys: readonly string[]) {
  const [sealingKey] = keys;
  if (sealingKey === undefined)
    throw new Error(
      'AUDIT_KEY is required: the audit cannot be sealed without a key',
    );
  return {
    /**
     * The MAC of an entry at a position, after the entry with the MAC
     * `previous`.
     */
    macOf: (previous: Buffer, row: ChainRow, position: number) =>
      rowMac(sealingKey, previous, row, position),
    /**
     * Whether the entry's MAC matches its content, its position and the
     * preceding entry.
     */
    holds: (previous: Buffer, row: ChainRow) =>
      keys.some((key) =>
        isSame(rowMac(key, previous, row, row.position ?? 0), row.mac),
      ),
    sign: (head: AuditHead): SignedAuditHead => ({
      ...head,
      signature: headMac(sealingKey, head).toString('hex'),
    }),
    isSigned: (head: SignedAuditHead) =>
      keys.some((key) =>
        isSame(headMac(key, head), Buffer.from(head.signature, 'hex')),
      ),
  };
}

/**
 * JSON separates the members unambiguously; the first member separates entries
 * from heads.
 */
const rowMac = (
  key: string,
  previous: Buffer,
  row: ChainRow,
  position: number,
): Buffer =>
  mac(key, [
    'entry',
    previous.toString('hex'),
    row.accountId,
    position,
    row.id,
    row.at,
    row.actor,
    row.operation,
    row.patientId,
    row.targetId,
    row.outcome,
    row.remoteAddress,
    row.times,
    row.since,
    row.details,
  ]);

const headMac = (
  key: string,
  { accountId, position, mac: last, sealedAt, gone }: AuditHead,
): Buffer =>
  mac(key, [
    'head',
    accountId,
    position,
    last,
    sealedAt,
    ...(gone === undefined ? [] : [gone.at, gone.by, gone.reason]),
  ]);

const mac = (
  key: string,
  members: readonly (string | number | null)[],
): Buffer => createHmac('sha256', key).update(JSON.stringify(members)).digest();

const isSame = (expected: Buffer, given: Buffer | null): boolean =>
  given !== null &&
  given.length === expected.length &&
  timingSafeEqual(expected, given);
