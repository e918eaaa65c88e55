import { meaningOf } from './codes.ts';
import { firstMoment } from './dates.ts';
import { fingerprintOf, type Related } from './fingerprints.ts';
import { hashOf } from './ids.ts';
import { canonicalJson, isJson, type Json, objectsOf, textOf } from './json.ts';
import { localTarget } from './references.ts';

/** Systems whose numbers several things share: tax numbers of a company's sites. */
const SHARED_SYSTEMS: ReadonlySet<string> = new Set([
  'urn:oid:2.16.840.1.113883.4.2',
  'urn:oid:2.16.840.1.113883.4.4',
  'http://hl7.org/fhir/sid/us-ein',
]);

const NO_VALUE = /^(?:0+|none|null|unknown|n\/?a|unk|-+)$/i;

/** What must agree beside an identifier, for orders and accessions give one number to several results. */
const BESIDE_IDENTIFIER: Readonly<Record<string, (resource: Json) => unknown>> = {
  Condition: ({ code }) => meaningOf(code),
  DiagnosticReport: ({ code }) => meaningOf(code),
  Immunization: ({ vaccineCode }) => meaningOf(vaccineCode),
  MedicationAdministration: (resource) => firstMoment(resource, ['effectiveDateTime', 'effectivePeriod']),
  MedicationDispense: (resource) => firstMoment(resource, ['whenHandedOver', 'whenPrepared']),
  Observation: ({ code }) => meaningOf(code),
  Procedure: ({ code }) => meaningOf(code),
  ServiceRequest: ({ code }) => meaningOf(code),
};

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
  const keys = new Set(identifierKeys(type, resource));
  const fingerprint = fingerprintOf(resource, related);
  if (fingerprint !== undefined) keys.add(keyOf('c', [type, ...fingerprint]));
  else if (type === 'Medication') keys.add(keyOf('c', [type, 'as it is', canonicalJson(bare(resource))]));
  else if (!isOwnThing(type)) {
    keys.add(keyOf('c', [type, 'as it is', identity.source, canonicalJson(bare(resource))]));
  }
  if (keys.size === 0) keys.add(keyOf('o', [type, identity.source, identity.sourceId]));
  return [...keys].sort();
}

/** Told apart by their ids alone: they consist of little but references, or come several at once (three boxes). */
const isOwnThing = (type: string): boolean =>
  type === 'Provenance' || type === 'List' || type === 'Task' || type === 'SupplyDelivery';

function identifierKeys(type: string, resource: Json): string[] {
  const beside = BESIDE_IDENTIFIER[type]?.(resource) ?? '';
  return [
    ...objectsOf(resource.identifier),
    ...objectsOf(resource.masterIdentifier),
    ...objectsOf(resource.accessionIdentifier),
  ].flatMap(({ system, value, use }) => {
    const [name, text] = [textOf(system), textOf(value)?.trim()];
    if (name === undefined || text === undefined || NO_VALUE.test(text)) return [];
    if (use === 'old' || use === 'temp' || SHARED_SYSTEMS.has(name)) return [];
    return [keyOf('i', [type, name.replace(/\/$/, ''), text, beside])];
  });
}

/** What a resource says, without what its source's store says about it. */
function bare(resource: Json): Record<string, unknown> {
  const { id: _id, meta: _meta, text: _text, ...rest } = resource;
  return withoutPatientIds(rest) as Record<string, unknown>;
}

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

const keyOf = (kind: 'c' | 'i' | 'o', parts: readonly unknown[]): string =>
  `${kind}:${hashOf(parts).toString('base64url')}`;
