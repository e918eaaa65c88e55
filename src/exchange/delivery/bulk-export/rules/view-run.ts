import type { Json } from '../../../records/rules/json.ts';
import { SERVED_TYPES } from '../../../records/rules/resource-types.ts';

/**
 * What our own tables say about a record, in the form of resources. No types of
 * FHIR; served to views only.
 */
export const OWN_TYPES: readonly string[] = [
  'RecordCompleteness',
  'QueryOutcome',
];

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
  views: { name: string; resource: string; definition: Json }[];
}
