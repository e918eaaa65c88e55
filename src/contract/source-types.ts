/**
 * The three kinds of source (interface.md, "What the service does"). In a file without schemas, for workflow code:
 * whatever it imports is evaluated again for every workflow.
 */
export const SOURCE_TYPES = ['hie', 'pharmacy', 'lab'] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];
