import { canonical, canonicalJson, isJson, type Json, objectsOf, textOf } from './json.ts';
import { localTarget } from './references.ts';

/** A member of a group with all that is written of it into the record. */
export interface Member {
  source: string;
  /** Name of the document it came in. */
  fileName: string;
  content: Json;
}

/** The consolidated id of what a source calls `type/id`; undefined when that was not delivered or is put aside. */
export type Resolve = (source: string, target: { type: string; id: string }) => string | undefined;

/** Elements that others may add where the leading delivery is silent. Nothing that speaks of state, value or time. */
const FILLED: Readonly<Record<string, readonly string[]>> = {
  AllergyIntolerance: [
    'type',
    'category',
    'criticality',
    'reaction',
    'note',
    'recorder',
    'asserter',
    'encounter',
  ],
  Condition: [
    'severity',
    'category',
    'bodySite',
    'stage',
    'evidence',
    'note',
    'recordedDate',
    'encounter',
    'recorder',
    'asserter',
  ],
  DiagnosticReport: [
    'category',
    'result',
    'specimen',
    'imagingStudy',
    'media',
    'conclusion',
    'conclusionCode',
    'presentedForm',
    'performer',
    'resultsInterpreter',
    'encounter',
    'issued',
  ],
  DocumentReference: [
    'description',
    'category',
    'author',
    'custodian',
    'context',
    'docStatus',
    'securityLabel',
    'date',
  ],
  Encounter: [
    'type',
    'serviceType',
    'participant',
    'reasonCode',
    'reasonReference',
    'diagnosis',
    'hospitalization',
    'location',
    'serviceProvider',
  ],
  Immunization: [
    'lotNumber',
    'expirationDate',
    'manufacturer',
    'site',
    'route',
    'doseQuantity',
    'performer',
    'location',
    'protocolApplied',
    'note',
    'encounter',
  ],
  Location: ['telecom', 'address', 'position', 'managingOrganization', 'type', 'description'],
  Medication: ['form', 'ingredient', 'manufacturer', 'batch'],
  MedicationAdministration: ['dosage', 'reasonCode', 'reasonReference', 'performer', 'note', 'context'],
  MedicationDispense: [
    'quantity',
    'daysSupply',
    'dosageInstruction',
    'performer',
    'location',
    'authorizingPrescription',
    'type',
    'note',
    'context',
  ],
  MedicationRequest: [
    'dosageInstruction',
    'dispenseRequest',
    'requester',
    'recorder',
    'reasonCode',
    'reasonReference',
    'category',
    'note',
    'encounter',
    'authoredOn',
    'courseOfTherapyType',
  ],
  MedicationStatement: [
    'dosage',
    'reasonCode',
    'reasonReference',
    'note',
    'informationSource',
    'category',
    'context',
  ],
  Observation: [
    'category',
    'referenceRange',
    'interpretation',
    'method',
    'specimen',
    'device',
    'performer',
    'note',
    'encounter',
    'issued',
  ],
  Organization: ['telecom', 'address', 'type', 'alias', 'partOf'],
  Practitioner: ['telecom', 'address', 'qualification', 'gender', 'birthDate', 'communication'],
  Procedure: [
    'category',
    'bodySite',
    'outcome',
    'report',
    'complication',
    'followUp',
    'note',
    'reasonCode',
    'reasonReference',
    'performer',
    'location',
    'encounter',
    'recorder',
    'asserter',
  ],
};

/**
 * One resource out of the deliveries of one thing, the leading one first: what it says stands; the others add their
 * business identifiers, security labels, and what it is silent about. Keys in canonical order.
 *
 * @param patientId of our person, to whom every reference to the person at a source leads
 */
export function foldGroup(id: string, members: readonly Member[], patientId: string, resolve: Resolve): Json {
  const [leader, ...others] = members;
  if (leader === undefined) throw new Error('a group has at least one member');
  const folded: Record<string, unknown> = { ...rewritten(leader, leader.content, patientId, resolve) };
  const type = textOf(leader.content.resourceType) ?? '';
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

/** A copy whose references lead into the record, or are logical. */
export function rewritten<T>(
  member: Pick<Member, 'source'>,
  value: T,
  patientId: string,
  resolve: Resolve,
): T {
  const copy = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(copy);
    if (!isJson(item)) return item;
    const copied: Record<string, unknown> = {};
    for (const [name, part] of Object.entries(item)) {
      if (name !== '__proto__') copied[name] = copy(part);
    }
    return typeof item.reference === 'string'
      ? referenceOf(copied, item.reference, member.source, patientId, resolve)
      : copied;
  };
  return copy(value) as T;
}

function referenceOf(
  copied: Record<string, unknown>,
  reference: string,
  source: string,
  patientId: string,
  resolve: Resolve,
): Record<string, unknown> {
  if (reference.startsWith('#')) return copied;
  const target = localTarget(reference);
  if (target?.type === 'Patient') {
    const id = resolve(source, target);
    if (id !== undefined) return { ...copied, reference: `Patient/${patientId}` };
    // Somebody else's id, name and numbers are nobody's business here.
    return { type: 'Patient', display: 'Another person' };
  }
  const id = target === undefined ? undefined : resolve(source, target);
  if (target !== undefined && id !== undefined) return { ...copied, reference: `${target.type}/${id}` };
  const { reference: _reference, ...rest } = copied;
  return {
    ...rest,
    ...(rest.type === undefined ? typeNamed(reference) : {}),
    ...(rest.identifier === undefined ? { identifier: logicalTarget(source, reference) } : {}),
  };
}

const typeNamed = (reference: string): { type?: string } => {
  const type = /^(?:.*\/)?([A-Z][A-Za-z]+)[/?]/.exec(reference)?.[1];
  return type === undefined ? {} : { type };
};

/** What was not delivered is still named: by the number that was searched for, or by its name at the source. */
function logicalTarget(source: string, reference: string): { system: string; value: string } {
  const searched = /^[A-Z][A-Za-z]+\?identifier=([^|&]+)\|([^&]+)$/.exec(reference);
  if (searched?.[1] !== undefined && searched[2] !== undefined) {
    return { system: searched[1], value: searched[2] };
  }
  return /^(?:https?|urn):/.test(reference)
    ? { system: 'urn:ietf:rfc:3986', value: reference }
    : { system: sourceSystem(source), value: reference };
}

/** The system of names that a source gives: `urn:medical-exchange:source:hie`. */
export const sourceSystem = (source: string): string => `urn:medical-exchange:source:${source}`;

function pointsInside(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(pointsInside);
  if (!isJson(value)) return false;
  if (typeof value.reference === 'string' && value.reference.startsWith('#')) return true;
  return Object.values(value).some(pointsInside);
}
