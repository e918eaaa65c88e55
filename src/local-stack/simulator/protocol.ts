/**
 * The three stand-in source networks. Each is a FHIR R4 server under
 * `/{name}/fhir`; hie is an IHE gateway, too.
 */
export const SOURCE_NAMES = ['hie', 'pharmacy', 'lab'] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

/**
 * Purpose of a request, for rules and the request log.
 * - `match`: `Patient/$match`, `Patient` searches by demographics, and ITI-55
 * - `everything`: `$everything`, also when it only starts a job
 * - `job`: polling or cancelling a job, including the result of a finished job
 * - `page`: following a `next` link, or reading one NDJSON file of a manifest
 * - `document`: DocumentReference searches, and ITI-38; `search`: searches of the
 *   other types; `read`: one resource by id
 * - `binary`: the bytes of documents, by ITI-39 of several at once
 * - `callback`: the simulator's own request to the client
 */
export const OPERATIONS = [
  'token',
  'metadata',
  'match',
  'everything',
  'job',
  'page',
  'search',
  'document',
  'binary',
  'read',
  'callback',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/**
 * The IHE gateway of hie: its home community and addresses below the
 * simulator's. 2.999 is the arc for examples.
 */
export const SIMULATED_GATEWAY = {
  homeCommunity: '2.999.7',
  /** Answers for a second community, if it is made to. */
  secondCommunity: '2.999.8',
  discovery: '/hie/ihe/discovery',
  query: '/hie/ihe/query',
  retrieve: '/hie/ihe/retrieve',
  submission: '/hie/ihe/submission',
} as const;
