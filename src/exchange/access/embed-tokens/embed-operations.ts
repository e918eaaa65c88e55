/** The operations an embed token permits: those that the page uses; none that lists patients. */
export const EMBED_OPERATIONS: ReadonlySet<string> = new Set([
  'getPatient',
  'getPatientCohorts',
  'listDocuments',
  'getDocumentUrl',
  'getEmbedSummary',
  'watchEmbedQueries',
]);
