import { isJson, type Json } from '#record-summary/fhir';
import { referencesIn } from '../../src/exchange/records/rules/references.ts';

/**
 * A part of these Bundles that has each resource of another shape once, with
 * everything that it refers to. Resources have the same shape if they differ
 * only in what a validator does not compare: ids, digits of times and numbers,
 * and free text.
 */
export function representatives(
  bundles: ReadonlyMap<string, Bundle>,
): Map<string, Bundle> {
  const known = new Set<string>();
  const chosen = new Map<string, Bundle>();
  for (const [name, bundle] of bundles) {
    const byName = new Map(
      bundle.entry.map((entry) => [nameOf(entry.resource), entry]),
    );
    const wanted = new Set<string>();
    const add = (of: string) => {
      const entry = byName.get(of);
      if (entry === undefined || wanted.has(of)) return;
      wanted.add(of);
      for (const reference of referencesIn(entry.resource)) add(reference);
    };
    for (const { resource } of bundle.entry) {
      const shape = JSON.stringify(shapeOf(resource, ''));
      if (known.has(shape)) continue;
      known.add(shape);
      add(nameOf(resource));
    }
    const entry = bundle.entry.filter(({ resource }) =>
      wanted.has(nameOf(resource)),
    );
    if (entry.length > 0) chosen.set(name, { ...bundle, entry });
  }
  return chosen;
}

export interface Bundle {
  entry: { fullUrl?: string; resource: Json }[];
}

const nameOf = ({ resourceType, id }: Json): string =>
  `${String(resourceType)}/${String(id)}`;

/**
 * Elements whose texts a validator compares with a value set, a profile or each
 * other.
 */
const COMPARED = new Set([
  'system',
  'code',
  'unit',
  'url',
  'status',
  'intent',
  'use',
  'mode',
  'gender',
  'comparator',
  'priority',
  'type',
  'resourceType',
  'profile',
  'contentType',
  'language',
  'clinicalStatus',
  'category',
  'criticality',
  'docStatus',
  'kind',
  'outcome',
  'lifecycleStatus',
  'valueCode',
  'valueUri',
  'valueUrl',
]);
const NPI = 'http://hl7.org/fhir/sid/us-npi';

/** What a validator can tell of a value. */
function shapeOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) {
    const shapes = value.map((each) => JSON.stringify(shapeOf(each, name)));
    return [...new Set(shapes)].sort();
  }
  if (isJson(value)) return shapeOfObject(value);
  if (typeof value === 'number')
    return Number.isInteger(value) ? 'integer' : 'decimal';
  if (typeof value !== 'string') return value;
  if (name === 'reference') return value.replace(/\/.*/, '');
  if (name === 'id') return 'id';
  if (COMPARED.has(name)) return value;
  if (/^\d{4}(-\d\d)*(T.*)?$/.test(value)) return value.replaceAll(/\d/g, '9');
  return value.trim() === value ? 'text' : ' text ';
}

function shapeOfObject(object: Json): unknown {
  const entries = Object.keys(object)
    .sort()
    .map((key) => [key, shapeOf(object[key], key)]);
  const { start, end, system, value } = object;
  if (typeof start === 'string' && typeof end === 'string')
    entries.push(['isInOrder', start <= end]);
  if (system === NPI) entries.push(['value', value]);
  return Object.fromEntries(entries);
}
