/** Why a resource leaves the record: its source deleted it, or now says that it is about another person. */
export type RetireReason = 'deleted' | 'moved';

/** A resource's identity at its source. */
export interface Identity {
  resourceType: string;
  id: string;
}

/** A resource that its source names only to say that it is not this person's, or no longer. */
export interface Retraction extends Identity {
  reason: RetireReason;
  /** As `revisionOf`; empty when the source does not say. */
  revision: string;
  /** Whom a moved one is about, by their ids at the source; undefined for an address that is not the source's. */
  patientIds: readonly (string | undefined)[];
}

/**
 * Whether a resource that names these Patients of its source is another person's. `ids` are all under which the source has
 * known ours: not every answer finds all of them. An address elsewhere (undefined) is no proof: servers move.
 */
export const namesAnother = (
  patientIds: readonly (string | undefined)[],
  ids: ReadonlySet<string>,
): boolean => patientIds.some((id) => id !== undefined && !ids.has(id));

/** Whether a retraction takes a resource out of a person's record. */
export const isTakenBack = ({ reason, patientIds }: Retraction, ids: ReadonlySet<string>): boolean =>
  reason === 'deleted' || namesAnother(patientIds, ids);
