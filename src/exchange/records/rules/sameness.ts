import { BESIDE_NUMBER } from './beside.ts';
import { valueIn } from './codes.ts';
import { bare, comparable } from './comparable.ts';
import { fingerprintOf, isEnteredInError, negated, type Related } from './fingerprints.ts';
import { hashOf } from './ids.ts';
import { canonicalJson, type Json, objectsOf, textOf } from './json.ts';
import { bucketsOf, measureOf } from './measures.ts';

/** Systems whose numbers several things share: tax numbers of a company's sites. */
const SHARED_SYSTEMS: ReadonlySet<string> = new Set([
  'urn:oid:2.16.840.1.113883.4.2',
  'urn:oid:2.16.840.1.113883.4.4',
  'http://hl7.org/fhir/sid/us-ein',
]);

const NO_VALUE = /^(?:0+|none|null|unknown|n\/?a|unk|-+)$/i;

/**
 * The keys of a resource: two that share one are the same thing, and so on from one to the next. The first in text
 * order names the thing, and content comes before identifiers, for the next source that brings the same content
 * then changes no id. `c:` content, `i:` business identifier, `o:` nothing but the source's own id.
 *
 * @param identity the resource's identity at its source
 */
export function samenessKeys(
  identity: { source: string; sourceId: string },
  resource: Json,
  related: Related = {},
): string[] {
  const type = textOf(resource.resourceType) ?? '';
  const buckets = bucketsIn(resource);
  const keys = new Set(identifierKeys(type, resource, related, buckets));
  const fingerprint = fingerprintOf(resource, related);
  if (fingerprint !== undefined) {
    for (const bucket of buckets) keys.add(keyOf('c', [type, ...fingerprint, ...bucket]));
  } else if (type === 'Medication') keys.add(keyOf('c', [type, 'as it is', canonicalJson(bare(resource))]));
  else if (!isOwnThing(type)) {
    keys.add(keyOf('c', [type, 'as it is', identity.source, canonicalJson(bare(resource))]));
  }
  if (keys.size === 0) keys.add(keyOf('o', [type, identity.source, identity.sourceId]));
  return [...keys].sort();
}

/** Told apart by their ids alone: they consist of little but references, or come several at once (three boxes). */
const isOwnThing = (type: string): boolean =>
  type === 'Provenance' || type === 'List' || type === 'Task' || type === 'SupplyDelivery';

function identifierKeys(
  type: string,
  resource: Json,
  related: Related,
  buckets: readonly (readonly string[])[],
): string[] {
  const { identifier: _identifier, ...unnumbered } = resource;
  const besides = BESIDE_NUMBER[type]?.(resource, related) ?? [comparable(unnumbered)];
  const beside = [isEnteredInError(resource), negated(resource), ...besides];
  return [
    ...objectsOf(resource.identifier),
    ...objectsOf(resource.masterIdentifier),
    ...objectsOf(resource.accessionIdentifier),
  ].flatMap(({ system, value, use }) => {
    const [name, text] = [textOf(system), textOf(value)?.trim()];
    if (name === undefined || text === undefined || NO_VALUE.test(text)) return [];
    if (use === 'old' || use === 'temp' || SHARED_SYSTEMS.has(name)) return [];
    return buckets.map((bucket) => keyOf('i', [type, name.replace(/\/$/, ''), text, beside, ...bucket]));
  });
}

/** Results within each other's precision share a key; which of those that do are one is for `grouping.ts` to say. */
function bucketsIn(resource: Json): string[][] {
  if (resource.resourceType !== 'Observation') return [[]];
  const measure = measureOf(valueIn(resource)?.value);
  return measure === undefined ? [[]] : bucketsOf(measure.value).map((bucket) => [bucket]);
}

const keyOf = (kind: 'c' | 'i' | 'o', parts: readonly unknown[]): string =>
  `${kind}:${hashOf(parts).toString('base64url')}`;
