import { moment } from './dates.ts';
import { canonical, isJson, type Json } from './json.ts';
import { localTarget } from './references.ts';

/** What a resource says, without what its source's store says about it. */
export function bare(resource: Json): Json {
  const { id: _id, meta: _meta, text: _text, ...rest } = resource;
  return withoutPatientIds(rest) as Json;
}

/** The same for two ways to write one resource: one instant in two zones, keys in another order. */
export const comparable = (resource: Json): unknown => canonical(withInstants(bare(resource)));

/** The person has another id at each of a source's records. */
function withoutPatientIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPatientIds);
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      name === 'reference' && typeof item === 'string' && localTarget(item)?.type === 'Patient'
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
