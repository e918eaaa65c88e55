import { z } from 'zod';
import type { SignedAuditHead } from './chain.ts';
import type { ChainRow } from './chain-store.ts';

/** Entry of the sealer: the chain did not lead on from the head kept elsewhere; it stands where the lost ones had begun. */
export const HEAD_MISSED = 'missAuditHead';
/** Entry of an operator: what is lost is known, and why. */
export const LOSS_ACCEPTED = 'acceptAuditLoss';

/** Entry of an operator: the head kept elsewhere was missing, and begins anew behind this entry. */
export const HEAD_ANEW = 'renewAuditHead';

/** Entries that were sealed once and are not there any more. */
export interface Loss {
  /** Position of the first one. */
  from: number;
  /** Of the last one that the head kept elsewhere knew of; there may have been more behind it. */
  to: number;
  /** Of that one, in hex. */
  mac: string;
  /** When that head was kept; ISO 8601. */
  sealedAt: string;
  /** When the last entry before them was written; none when there is none. ISO 8601. */
  keptUntil?: string;
}

export interface AcceptedLoss extends Loss {
  /** ISO 8601. */
  at: string;
  by: string;
  reason: string;
}

/** What an operator said of a head that was missing. */
export interface RenewedHead {
  /** Of the last entry before. */
  position: number;
  /** ISO 8601. */
  at: string;
  by: string;
  reason: string;
}

const renewedSchema = z.object({ position: z.number(), by: z.string(), reason: z.string() });
const lossSchema = z.object({
  from: z.number(),
  to: z.number(),
  mac: z.string(),
  sealedAt: z.string(),
  keptUntil: z.string().optional(),
});
const acceptedSchema = lossSchema.extend({ by: z.string(), reason: z.string() });

export const lossSince = (from: number, kept: SignedAuditHead): Loss => ({
  from,
  to: kept.position,
  mac: kept.mac,
  sealedAt: kept.sealedAt,
});

export const writeRenewal = (renewal: Omit<RenewedHead, 'at'>): string => JSON.stringify(renewal);

export const writeLoss = (loss: Loss & Partial<AcceptedLoss>): string => JSON.stringify(loss);

/** What the entries of a chain tell of losses, gathered as they are read. */
export class LossReader {
  readonly accepted: AcceptedLoss[] = [];
  readonly renewed: RenewedHead[] = [];
  readonly #missed: Loss[] = [];
  /** Of the last entry that was read. */
  lastAt: string | undefined;

  read({ operation, details, at }: Pick<ChainRow, 'operation' | 'details' | 'at'>): void {
    if (operation === HEAD_MISSED) {
      const loss = parsed(lossSchema, details);
      if (loss !== undefined) this.#missed.push({ ...loss, keptUntil: this.lastAt });
    } else if (operation === LOSS_ACCEPTED) {
      const loss = parsed(acceptedSchema, details);
      if (loss !== undefined) this.accepted.push({ ...loss, at });
    } else if (operation === HEAD_ANEW) {
      const renewal = parsed(renewedSchema, details);
      if (renewal !== undefined) this.renewed.push({ ...renewal, at });
    }
    this.lastAt = at;
  }

  /** The first one that nobody has accepted. */
  get open(): Loss | undefined {
    return this.#missed.find(({ mac }) => !this.accepted.some((accepted) => accepted.mac === mac));
  }
}

function parsed<S extends z.ZodType>(schema: S, details: string | null): z.output<S> | undefined {
  try {
    return schema.parse(JSON.parse(details ?? ''));
  } catch {
    return undefined;
  }
}
