import { FILLED } from './filled-elements.ts';
import { canonical, canonicalJson, isJson, type Json, objectsOf, textOf } from './json.ts';
import { withPreciseValues } from './precise-values.ts';
import { type Resolve, rewritten } from './rewritten.ts';

/** A member of a group with all that is written of it into the record. */
export interface Member {
  source: string;
  /** Name of the document it came in. */
  fileName: string;
  /** Made from a C-CDA document. */
  isConverted?: boolean;
  content: Json;
}

/**
 * One resource out of the deliveries of one thing, the leading one first: what it says stands; the others add their
 * business identifiers, security labels, and what it is silent about. Keys in canonical order.
 *
 * @param patientId of our person, to whom every reference to the person at a source leads
 */
export function foldGroup(id: string, members: readonly Member[], patientId: string, resolve: Resolve): Json {
  const [leader, ...others] = members;
  if (leader === undefined) throw new Error('a group has at least one member');
  const type = textOf(leader.content.resourceType) ?? '';
  const content = type === 'Observation' ? withPreciseValues(members) : leader.content;
  const folded: Record<string, unknown> = { ...rewritten(leader, content, patientId, resolve) };
  for (const other of others) {
    for (const element of FILLED[type] ?? []) {
      const value = other.content[element];
      if (value === undefined || folded[element] !== undefined || folded[`_${element}`] !== undefined)
        continue;
      if (element === 'reaction' && leader.content.code === undefined) continue;
      // What points into the other's contained resources would point nowhere here.
      if (!pointsInside(value)) folded[element] = rewritten(other, value, patientId, resolve);
    }
  }
  if (others.length > 0) unite(folded, members, patientId, resolve);
  folded.id = id;
  folded.meta = metaOf(members);
  return canonical(folded) as Json;
}

function unite(
  folded: Record<string, unknown>,
  members: readonly Member[],
  patientId: string,
  resolve: Resolve,
): void {
  // Not every type's identifier is a list.
  if (!members.some(({ content }) => Array.isArray(content.identifier))) return;
  const identifiers = new Map<string, unknown>();
  for (const member of members) {
    for (const identifier of objectsOf(member.content.identifier)) {
      const name = canonicalJson([identifier.system, identifier.value]);
      if (!identifiers.has(name)) identifiers.set(name, rewritten(member, identifier, patientId, resolve));
    }
  }
  folded.identifier = [...identifiers.values()];
}

/** Where it comes from, the leader's profiles, and every label that any of them bears. */
function metaOf(members: readonly Member[]): Json {
  const leading = members[0]?.content.meta;
  const { lastUpdated, profile } = isJson(leading) ? leading : {};
  return {
    ...(lastUpdated === undefined ? {} : { lastUpdated }),
    ...(profile === undefined ? {} : { profile }),
    ...labelsOf(members),
    source: members[0]?.fileName,
  };
}

/** Security labels and tags of all members: none gets lost on the way. */
export function labelsOf(members: readonly Member[]): Json {
  const metas = members.map(({ content }) => (isJson(content.meta) ? content.meta : {}));
  const union = (name: 'security' | 'tag') => {
    const all = new Map<string, Json>();
    for (const label of metas.flatMap((meta) => objectsOf(meta[name]))) all.set(canonicalJson(label), label);
    const sorted = [...all.entries()].sort(([left], [right]) => (left < right ? -1 : 1));
    return sorted.length === 0 ? {} : { [name]: sorted.map(([, label]) => label) };
  };
  return { ...union('security'), ...union('tag') };
}

function pointsInside(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(pointsInside);
  if (!isJson(value)) return false;
  if (typeof value.reference === 'string' && value.reference.startsWith('#')) return true;
  return Object.values(value).some(pointsInside);
}
