import { isJson, type Json } from '../../rules/json.ts';

/** Types that stand for a person, place or thing; equal content is one resource. */
const SHARED: ReadonlySet<string> = new Set([
  'Device',
  'Location',
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Specimen',
]);

/** Collects the resources of a document with ids of their own. */
export function createResult(unit: string) {
  const made: Json[] = [];
  let counts = new Map<string, number>();
  let shared = new Map<string, string>();
  return {
    /** Adds a resource without empty parts; returns a reference to it. */
    add(resource: Json): Json {
      const own = withoutEmpty(resource) as Json;
      const type = String(own.resourceType);
      const key = SHARED.has(type) ? JSON.stringify(own) : undefined;
      const known = key === undefined ? undefined : shared.get(key);
      if (known !== undefined) return { reference: known };
      const number = (counts.get(type) ?? 0) + 1;
      counts.set(type, number);
      const { resourceType, ...rest } = own;
      const id = `ccda.${unit}.${number}`;
      made.push({ resourceType, id, ...rest });
      if (key !== undefined) shared.set(key, `${type}/${id}`);
      return { reference: `${type}/${id}` };
    },
    mark: () => ({ made: made.length, counts: new Map(counts), shared: new Map(shared) }),
    /** Forgets what was added since a mark. */
    backTo(mark: { made: number; counts: Map<string, number>; shared: Map<string, string> }): void {
      made.length = mark.made;
      counts = mark.counts;
      shared = mark.shared;
    },
    resources: (): Json[] => made,
  };
}

/** A copy without empty texts, lists and objects; undefined when nothing is left. */
function withoutEmpty(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return undefined;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (!isJson(value)) return value;
  const copy: Record<string, unknown> = {};
  let isEmpty = true;
  for (const [name, part] of Object.entries(value)) {
    const own = withoutEmpty(part);
    if (own === undefined) continue;
    copy[name] = own;
    isEmpty = false;
  }
  return isEmpty ? undefined : copy;
}
