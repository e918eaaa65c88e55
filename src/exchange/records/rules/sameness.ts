import { valueIn } from './codes.ts';
import { comparable, withoutMetadata } from './comparable.ts';
import {
  alternatives,
  contentOf,
  fingerprintOf,
  isEnteredInError,
  negation,
  type Related,
} from './fingerprints.ts';
import { AGREEING_WITH_IDENTIFIER, STATED } from './identifier-agreement.ts';
import { hashOf } from './ids.ts';
import { canonicalJson, type Json, objectsOf, textOf } from './json.ts';
import { bucketsOf, measureOf } from './measures.ts';

/** Identifier systems whose values several things share, such as tax numbers of a company's sites. */
const SHARED_SYSTEMS: ReadonlySet<string> = new Set([
  'urn:oid:2.16.840.1.113883.4.2',
  'urn:oid:2.16.840.1.113883.4.4',
  'http://hl7.org/fhir/sid/us-ein',
]);

const NO_VALUE = /^(?:0+|none|null|unknown|n\/?a|unk|-+)$/i;

/**
 * The keys of a resource: resources that share a key are candidates for being the same thing. Prefixes: `c:` content, `i:`
 * business identifier, `o:` only the source's own id, `s:` another version of the same statement (`supersession.ts`). The first
 * key in text order gives the consolidated resource its id; content sorts before identifiers, so that another source with the same
 * content does not change the id.
 *
 * @param identity the resource's identity at its source
 */
export function samenessKeys(
  identity: { source: string; sourceId: string; isConverted?: boolean },
  resource: Json,
  related: Related = {},
): string[] {
  const type = textOf(resource.resourceType) ?? '';
  const buckets = bucketsIn(resource);
  const keys = new Set(identifierKeys(type, resource, related, buckets));
  const fingerprint = fingerprintOf(resource, related);
  if (fingerprint !== undefined) {
    for (const each of alternatives(resource, fingerprint))
      for (const bucket of buckets) keys.add(keyOf('c', [type, ...each, ...bucket]));
  } else if (type === 'Medication')
    keys.add(keyOf('c', [type, 'as it is', canonicalJson(withoutMetadata(resource))]));
  else if (!isOwnThing(type)) {
    keys.add(keyOf('c', [type, 'as it is', identity.source, canonicalJson(withoutMetadata(resource))]));
  }
  if (keys.size === 0) keys.add(ownKey(type, identity));
  for (const key of versionKeys(resource, related, identity.isConverted === true, keys)) keys.add(key);
  return [...keys].sort();
}

/** The key of a delivery that shares none with any other. */
export const ownKey = (type: string, { source, sourceId }: { source: string; sourceId: string }): string =>
  keyOf('o', [type, source, sourceId]);

/** Types compared by id only: they consist mostly of references, or equal ones occur together (three boxes delivered). */
const isOwnThing = (type: string): boolean =>
  type === 'Provenance' || type === 'List' || type === 'Task' || type === 'SupplyDelivery';

/**
 * The keys of a statement whose state changes: its identifiers with what they identify, whatever the value or the status. Also, for
 * what a source retracts and what a document states, its content.
 */
function versionKeys(
  resource: Json,
  related: Related,
  isConverted: boolean,
  keys: ReadonlySet<string>,
): string[] {
  const type = textOf(resource.resourceType) ?? '';
  const numbers = numbersOf(resource).filter(({ kind }) => !ORDERS.includes(kind));
  const isRetracted = isEnteredInError(resource);
  if (numbers.length === 0 && !isConverted && !isRetracted) return [];
  const what = STATED[type]?.(resource, related) ?? [undefined];
  if (what.includes(undefined)) return [];
  const byNumber = numbers.map(({ system, value }) => keyOf('s', [type, system, value, what]));
  if (isConverted)
    return [...byNumber, ...[...keys].filter((key) => key.startsWith('c:')).map((key) => `s:${key}`)];
  if (!isRetracted) return byNumber;
  const fingerprint = contentOf(resource, related);
  const buckets = fingerprint === undefined ? [] : bucketsIn(resource);
  return [
    ...byNumber,
    ...buckets.map((bucket) => `s:${keyOf('c', [type, ...(fingerprint ?? []), ...bucket])}`),
  ];
}

/** Types of identifiers that number orders. */
const ORDERS: readonly (string | undefined)[] = ['PLAC', 'PGN'];

/** The business identifiers of a resource that identify one thing only, with the code of their type. */
function numbersOf(resource: Json): { system: string; value: string; kind: string | undefined }[] {
  return [
    ...objectsOf(resource.identifier),
    ...objectsOf(resource.masterIdentifier),
    ...objectsOf(resource.accessionIdentifier),
  ].flatMap(({ system, value, use, type }) => {
    const [name, text] = [textOf(system), textOf(value)?.trim()];
    if (name === undefined || text === undefined || NO_VALUE.test(text)) return [];
    if (use === 'old' || use === 'temp' || SHARED_SYSTEMS.has(name)) return [];
    const [coding] = objectsOf(objectsOf(type)[0]?.coding);
    return { system: name.replace(/\/$/, ''), value: text, kind: textOf(coding?.code) };
  });
}

function identifierKeys(
  type: string,
  resource: Json,
  related: Related,
  buckets: readonly (readonly string[])[],
): string[] {
  const numbers = numbersOf(resource);
  if (numbers.length === 0) return [];
  const { identifier: _identifier, ...unnumbered } = resource;
  const besides = AGREEING_WITH_IDENTIFIER[type]?.(resource, related) ?? [comparable(unnumbered)];
  const beside = [isEnteredInError(resource), negation(resource), ...besides];
  return numbers.flatMap(({ system, value }) =>
    buckets.map((bucket) => keyOf('i', [type, system, value, beside, ...bucket])),
  );
}

/** Results that agree within their precision share a bucket; `grouping.ts` decides which of them are united. */
function bucketsIn(resource: Json): string[][] {
  if (resource.resourceType !== 'Observation') return [[]];
  const measure = measureOf(valueIn(resource)?.value, resource.code);
  return measure === undefined ? [[]] : bucketsOf(measure.value).map((bucket) => [bucket]);
}

const keyOf = (kind: 'c' | 'i' | 'o' | 's', parts: readonly unknown[]): string => `${kind}:${hashOf(parts)}`;
