/** The three stand-in source networks. Each is a FHIR R4 server under `/{name}/fhir`. */
export const SOURCE_NAMES = ['hie', 'pharmacy', 'lab'] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

/**
 * What a request is for, as rules and the request log name it.
 * - `match`: `Patient/$match` and `Patient` searches by demographics
 * - `everything`: `$everything`, also when it only starts a job
 * - `job`: asking for, or cancelling, a job; the answer of a finished job too
 * - `page`: following a `next` link, or reading one NDJSON file of a manifest
 * - `document`: DocumentReference searches; `search`: searches of the other types; `read`: one resource by id
 * - `callback`: the simulator's own call to the party that asked
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
