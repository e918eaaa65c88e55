/** What an embed token may do: what the page does, and nothing that lists people. */
export const EMBED_OPERATIONS: ReadonlySet<string> = new Set([
  'getPatient',
  'getPatientCohorts',
  'listDocuments',
  'getDocumentUrl',
  'getEmbedSummary',
  'watchEmbedQueries',
]);
