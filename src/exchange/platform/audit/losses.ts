import { z } from 'zod';
import type { SignedAuditHead } from './chain.ts';
import type { ChainRow } from './chain-store.ts';

/**
 * Operation of the sealer's entry: the chain did not continue the external
 * head. It takes the position of the first lost entry.
 */
export const HEAD_MISSED = 'missAuditHead';
/** Operation of an operator's entry: accepts a loss. */
export const LOSS_ACCEPTED = 'acceptAuditLoss';

/**
 * Operation of an operator's entry: renews an external head that was missing.
 */
export const HEAD_RENEWED = 'renewAuditHead';

/** Entries that were sealed and no longer exist. */
const lossSchema = z.object({
  /** Position of the first lost entry. */
  from: z.number(),
  /**
   * Position of the external head: the last entry known to be lost. More may
   * have followed it.
   */
  to: z.number(),
  /** MAC of the entry at `to`, in hex. */
  mac: z.string(),
  /** When the external head was written; ISO 8601. */
  sealedAt: z.string(),
  /**
   * When the last entry before the loss was written; absent if there is none.
   * ISO 8601.
   */
  keptUntil: z.string().optional(),
});
export type Loss = z.output<typeof lossSchema>;

const acceptedSchema = lossSchema.extend({
  by: z.string(),
  reason: z.string(),
});
/** `at`: ISO 8601. */
export type AcceptedLoss = z.output<typeof acceptedSchema> & { at: string };

/**
 * An operator's renewal of a missing external head. `position`: that of the
 * last entry before it.
 */
const renewedSchema = z.object({
  position: z.number(),
  by: z.string(),
  reason: z.string(),
});
/** `at`: ISO 8601. */
export type RenewedHead = z.output<typeof renewedSchema> & { at: string };

/** The loss of all entries from a position up to the external head. */
export const lossSince = (from: number, kept: SignedAuditHead): Loss => ({
  from,
  to: kept.position,
  mac: kept.mac,
  sealedAt: kept.sealedAt,
});

export const writeRenewal = (renewal: Omit<RenewedHead, 'at'>): string =>
  JSON.stringify(renewal);

export const writeLoss = (loss: Loss & Partial<AcceptedLoss>): string =>
  JSON.stringify(loss);

/**
 * Collects losses and renewals from the entries of a chain, which must be
 * passed in order.
 */
export class LossReader {
  readonly accepted: AcceptedLoss[] = [];
  readonly renewed: RenewedHead[] = [];
  readonly #missed: Loss[] = [];
  /** Time of the last entry read. */
  lastAt: string | undefined;

  read({
    operation,
    details,
    at,
  }: Pick<ChainRow, 'operation' | 'details' | 'at'>): void {
    if (operation === HEAD_MISSED) {
      const loss = parsed(lossSchema, details);
      if (loss !== undefined)
        this.#missed.push({ ...loss, keptUntil: this.lastAt });
    } else if (operation === LOSS_ACCEPTED) {
      const loss = parsed(acceptedSchema, details);
      if (loss !== undefined) this.accepted.push({ ...loss, at });
    } else if (operation === HEAD_RENEWED) {
      const renewal = parsed(renewedSchema, details);
      if (renewal !== undefined) this.renewed.push({ ...renewal, at });
    }
    this.lastAt = at;
  }

  /** The first loss that no operator has accepted. */
  get open(): Loss | undefined {
    return this.#missed.find(
      ({ mac }) => !this.accepted.some((accepted) => accepted.mac === mac),
    );
  }
}

function parsed<S extends z.ZodType>(
  schema: S,
  details: string | null,
): z.output<S> | undefined {
  try {
    return schema.parse(JSON.parse(details ?? ''));
  } catch {
    return undefined;
  }
}
