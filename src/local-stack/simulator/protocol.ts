/**
 * The three stand-in source networks. Each is a FHIR R4 server under
 * `/{name}/fhir`.
 */
export const SOURCE_NAMES = ['hie', 'pharmacy', 'lab'] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

/**
 * Purpose of a request, for rules and the request log.
 * - `match`: `Patient/$match` and `Patient` searches by demographics
 * - `everything`: `$everything`, also when it only starts a job
 * - `job`: polling or cancelling a job, including the result of a finished job
 * - `page`: following a `next` link, or reading one NDJSON file of a manifest
 * - `document`: DocumentReference searches; `search`: searches of the other
 *   types; `read`: one resource by id
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
