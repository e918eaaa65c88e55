import { moment } from './dates.ts';
import { canonical, isJson, type Json } from './json.ts';
import { parseLocalReference } from './references.ts';

/** A resource's content without id, meta and narrative, and with every Patient reference made equal. */
export function withoutMetadata(resource: Json): Json {
  const { id: _id, meta: _meta, text: _text, ...rest } = resource;
  return withoutPatientIds(rest) as Json;
}

/** A form that is equal for two spellings of one resource: another time zone for the same instant, another key order. */
export const comparable = (resource: Json): unknown => canonical(withInstants(withoutMetadata(resource)));

/** A person may have several Patient ids at one source, so references to them must not differ. */
function withoutPatientIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPatientIds);
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      name === 'reference' && typeof item === 'string' && parseLocalReference(item)?.type === 'Patient'
        ? 'Patient'
        : withoutPatientIds(item),
    ]),
  );
}

function withInstants(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withInstants);
  if (isJson(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withInstants(item)]));
  }
  return typeof value === 'string' && value.includes('T') ? (moment(value) ?? value) : value;
}
