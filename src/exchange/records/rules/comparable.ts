import { isJson, type Json, moment, sortedNames } from '#record-summary/fhir';
import { parseLocalReference } from './references.ts';

/**
 * A resource's content without id, meta and narrative, and with every Patient
 * reference made equal.
 */
export function withoutMetadata(resource: Json): Json {
  const { id: _id, meta: _meta, text: _text, ...rest } = resource;
  return withoutPatientIds(rest) as Json;
}

/**
 * A form that is equal for two spellings of one resource: another time zone for
 * the same instant, another key order. Every resource goes through this, so it
 * is a single pass: the same as `canonical` of `withoutMetadata`, with instants
 * in UTC.
 */
export function comparable(resource: Json): unknown {
  return comparableObject(resource, METADATA);
}

const METADATA: ReadonlySet<string> = new Set(['id', 'meta', 'text']);
const NOTHING: ReadonlySet<string> = new Set();

function comparableValue(value: unknown): unknown {
  if (typeof value === 'string')
    return value.includes('T') ? (moment(value) ?? value) : value;
  if (Array.isArray(value)) return value.map(comparableValue);
  return isJson(value) ? comparableObject(value, NOTHING) : value;
}

function comparableObject(object: Json, leftOut: ReadonlySet<string>): Json {
  const copy: Record<string, unknown> = {};
  for (const name of sortedNames(object)) {
    const item = object[name];
    if (item === undefined || name === '__proto__' || leftOut.has(name))
      continue;
    copy[name] = isPatientReference(name, item)
      ? 'Patient'
      : comparableValue(item);
  }
  return copy;
}

/**
 * A person may have several Patient ids at one source, so references to them
 * must not differ.
 */
function withoutPatientIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPatientIds);
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      isPatientReference(name, item) ? 'Patient' : withoutPatientIds(item),
    ]),
  );
}

const isPatientReference = (name: string, value: unknown): boolean =>
  name === 'reference' &&
  typeof value === 'string' &&
  value.startsWith('Patient/') &&
  parseLocalReference(value) !== undefined;
