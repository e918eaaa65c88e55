import type { Json } from '#record-summary/fhir';
import { SERVED_TYPES } from '../../../records/rules/resource-types.ts';

/**
 * What our own tables say about a record, in the form of resources. No types of
 * FHIR; served to views only.
 */
export type OwnType = 'RecordCompleteness' | 'QueryOutcome';
export const OWN_TYPES: readonly string[] = [
  'RecordCompleteness',
  'QueryOutcome',
] satisfies OwnType[];

export const isViewType = (type: string): boolean =>
  SERVED_TYPES.includes(type) || OWN_TYPES.includes(type);

export const TABLE_FORMATS = ['parquet', 'csv', 'ndjson'] as const;
export type TableFormat = (typeof TABLE_FORMATS)[number];

/**
 * What a run writes. It is stored with the run, and contains nothing about a
 * patient.
 */
export interface ViewPlan {
  format: TableFormat;
  isDeidentified: boolean;
  views: PlannedView[];
}

export interface PlannedView {
  name: string;
  resource: string;
  definition: Json;
  /** Name of the column with the resource's key; undefined without one. */
  key?: string;
  /** As the manifest shows them. Runs that an earlier version started have none. */
  columns?: PlannedColumn[];
}

export interface PlannedColumn {
  name: string;
  /** FHIR type. */
  type: string;
  collection: boolean;
  /** What Parquet stores. */
  stored: string;
}
