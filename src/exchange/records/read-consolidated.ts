import type { FhirResource } from 'fhir/r4.js';
import type { SourceType } from '../../contract/primitives.ts';
import type { AccountTx } from '../store/database.ts';

/** What of a record is wanted; without any of it, all. `docs/merge.md` says which date counts for which type. */
export interface ConsolidatedFilter {
  /** FHIR resource types. `Patient` comes only when it is named, or when there are no types. */
  types?: readonly string[];
  /** YYYY-MM-DD, inclusive. Undated resources are kept. */
  dateFrom?: string;
  /** YYYY-MM-DD, inclusive. */
  dateTo?: string;
}

/** One delivery that a consolidated resource was made of. */
export interface Origin {
  source: SourceType;
  /** The id that the source gave it. */
  sourceId: string;
  /** Name of the document it came in: what `meta.source` says, and what E14 takes. */
  fileName: string;
  collectedAt: Date;
  /** Made from a C-CDA document. */
  isConverted: boolean;
}

export interface ConsolidatedResource {
  id: string;
  resourceType: string;
  /**
   * FHIR R4 under our ids, keys in canonical order. References lead to consolidated resources or are logical ones
   * (`identifier`, `display`); `meta.source` is the file name of the leading origin.
   */
  content: FhirResource;
  /** The leading one first; none for a Patient whom no source delivered. */
  origins: Origin[];
}

/** Where a page ended; opaque, plain JSON. */
export interface ConsolidatedPlace {
  resourceType: string;
  sortDate: string;
  id: string;
}

export interface ConsolidatedPage {
  resources: ConsolidatedResource[];
  /** Undefined after the last page. */
  next?: ConsolidatedPlace;
}

/**
 * Up to `count` resources of a patient's consolidated record after `after`: the Patient first, then by type, newest
 * first within a type (undated last). Bring the record up to date first (`RecordKeeper.merge`). Pages are read one by
 * one, each in a transaction of its own, so that nobody slow holds a connection.
 */
export declare function readConsolidated(
  tx: AccountTx,
  patientId: string,
  filter: ConsolidatedFilter,
  after: ConsolidatedPlace | undefined,
  count: number,
): Promise<ConsolidatedPage>;

/** How many resources of each type a read with this filter gives. */
export declare function countConsolidated(
  tx: AccountTx,
  patientId: string,
  filter: ConsolidatedFilter,
): Promise<Record<string, number>>;
