/**
 * The three kinds of source (docs/interface.md, Overview). This file contains
 * no schemas, because workflow code imports it and its imports are evaluated
 * again for every workflow.
 */
export const SOURCE_TYPES = ['hie', 'pharmacy', 'lab'] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

/**
 * Origins of recorded data: one of the sources, a message with attachments, or
 * what the caller itself contributed.
 */
export const RECORD_SOURCES = [
  ...SOURCE_TYPES,
  'message',
  'contribution',
] as const;
export type RecordSource = (typeof RECORD_SOURCES)[number];
