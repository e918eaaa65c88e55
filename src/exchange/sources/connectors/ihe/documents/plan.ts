import { z } from 'zod';
import { type Cursor, StoredByAnotherBuild } from '../../connector.ts';
import { communityPatientSchema } from '../discovery/community-patient.ts';

/** A document still to fetch: its ids as the community's list had them. */
const documentSchema = z.object({
  /** Of its DocumentReference. */
  id: z.string(),
  /** Index of the community's patient in `patients`. */
  patient: z.int().nonnegative(),
  homeCommunity: z.string(),
  repository: z.string(),
  uniqueId: z.string(),
  contentType: z.string(),
  /** As the list states them, which may be wrong. */
  sizeBytes: z.int().positive().optional(),
  sha1: z.string().optional(),
  /**
   * - `again`: it was asked for before, without success: now alone;
   * - `large`: it is there, and too large to be held in memory.
   */
  mark: z.enum(['again', 'large']).optional(),
});
export type PlannedDocument = z.infer<typeof documentSchema>;

const planSchema = z.object({
  protocol: z.literal('ihe'),
  version: z.literal(1),
  patients: z.array(communityPatientSchema).min(1),
  /** Indices of patients whose documents are still to be listed. */
  unlisted: z.array(z.int().nonnegative()),
  documents: z.array(documentSchema),
  /** What failed and may work later, tried when all else is done. */
  later: z.object({
    unlisted: z.array(z.int().nonnegative()),
    documents: z.array(documentSchema),
    /** When the first of it was put off. */
    since: z.iso.datetime().optional(),
  }),
  /** Ids of the documents listed so far: a second entry adds nothing. */
  listed: z.array(z.string()),
  /** Whether a community has listed its documents. */
  isListed: z.boolean(),
  /**
   * Documents that earlier queries have stored, and those of them that were
   * stored so long ago that a document made on demand is due again.
   */
  stored: z.array(z.string()),
  outdated: z.array(z.string()),
});

/**
 * What is still to be asked for one attempt. The cursor of a page is the plan
 * after that page.
 */
export type GatewayPlan = z.infer<typeof planSchema>;

/**
 * @param stored when documents were stored last, by the id of their
 *   DocumentReference
 * @param outdatedBefore documents made on demand that were stored before are due
 *   again
 */
export function newGatewayPlan(
  patients: GatewayPlan['patients'],
  stored: ReadonlyMap<string, Date>,
  outdatedBefore: Date,
): GatewayPlan {
  return {
    protocol: 'ihe',
    version: 1,
    patients,
    unlisted: patients.map((_, index) => index),
    documents: [],
    later: { unlisted: [], documents: [] },
    listed: [],
    isListed: false,
    stored: [...stored.keys()],
    outdated: [...stored].flatMap(([id, at]) =>
      at < outdatedBefore ? [id] : [],
    ),
  };
}

/** @throws StoredByAnotherBuild when the stored cursor has another shape */
export function gatewayPlanOf(cursor: Cursor): GatewayPlan {
  const plan = planSchema.safeParse(cursor);
  if (!plan.success) throw new StoredByAnotherBuild('cursor');
  return plan.data;
}

/** Whether communities are still to list their documents. */
export const isListing = ({ unlisted, later }: GatewayPlan): boolean =>
  unlisted.length + later.unlisted.length > 0;

export const isDone = (plan: GatewayPlan): boolean =>
  !isListing(plan) && plan.documents.length + plan.later.documents.length === 0;
