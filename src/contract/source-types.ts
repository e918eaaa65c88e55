/**
 * The three kinds of source (interface.md, "What the service does"). In a file without schemas, for workflow code:
 * whatever it imports is evaluated again for every workflow.
 */
export const SOURCE_TYPES = ['hie', 'pharmacy', 'lab'] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

/** Where what a record holds came from: a source that was asked, or a message with attachments. */
export const RECORD_SOURCES = [...SOURCE_TYPES, 'message'] as const;
export type RecordSource = (typeof RECORD_SOURCES)[number];
