/**
 * Why a resource was retired: its source deleted it, or now assigns it to
 * another person.
 */
export type RetireReason = 'deleted' | 'moved';

/** A resource's identity at its source. */
export interface Identity {
  resourceType: string;
  id: string;
}

/**
 * A source's statement that a resource is deleted or belongs to another person.
 */
export interface Retraction extends Identity {
  reason: RetireReason;
  /** As returned by `revisionOf`; empty when the source gives none. */
  revision: string;
  /**
   * For a moved resource: the Patient ids it names; undefined for a reference
   * to another server.
   */
  patientIds: readonly (string | undefined)[];
}

/**
 * Whether a resource that names these Patients of its source belongs to another
 * person. `ids` are all Patient ids that the source has ever had for our
 * person; a single query may find only some of them. A reference to another
 * server (undefined) proves nothing, because servers move.
 */
export const namesAnother = (
  patientIds: readonly (string | undefined)[],
  ids: ReadonlySet<string>,
): boolean => patientIds.some((id) => id !== undefined && !ids.has(id));

/** Whether a retraction removes the resource from the person's record. */
export const isTakenBack = (
  { reason, patientIds }: Retraction,
  ids: ReadonlySet<string>,
): boolean => reason === 'deleted' || namesAnother(patientIds, ids);
