import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';

const ENCOUNTER_CLASSES = [
  'AMB',
  'EMER',
  'FLD',
  'HH',
  'IMP',
  'ACUTE',
  'NONAC',
  'OBSENC',
  'PRENC',
  'SS',
  'VR',
];
const NARRATIVE_REFERENCE = /ccda-narrative-reference$/;

const SYSTEMS: Readonly<Record<string, string>> = {
  'http://nucc.org/cvx': 'http://hl7.org/fhir/sid/cvx',
  'http://terminology.hl7.org/CodeSystem/condition-verification':
    'http://terminology.hl7.org/CodeSystem/condition-ver-status',
};

/**
 * Turns the converter's output into valid FHIR: ids derived from `unit`, references to `Patient/<patientId>`, canonical
 * code system URLs, no empty elements. Drops the Patient of the header and resources without content.
 */
export function tidyResources(converted: readonly Json[], unit: string, patientId: string): Json[] {
  const tidy = converted
    .filter(({ resourceType }) => resourceType !== 'Patient')
    .map((resource) => corrected(tidied(resource, asItIs) as Json));
  const counts = new Map<string, number>();
  const names = new Map<string, string>();
  const kept = tidy.filter(hasContent).map((resource) => {
    const type = String(resource.resourceType);
    const number = (counts.get(type) ?? 0) + 1;
    counts.set(type, number);
    const id = `ccda.${unit}.${number}`;
    names.set(`${type}/${String(resource.id)}`, `${type}/${id}`);
    return { ...resource, id };
  });
  const patient = `Patient/${patientId}`;
  const resolve: Resolve = (reference) =>
    reference.startsWith('#') ? reference : reference.startsWith('Patient/') ? patient : names.get(reference);
  return kept.map((resource) => tidied(withOwnContainedIds(resource), resolve) as Json);
}

type Resolve = (reference: string) => string | undefined;
const asItIs: Resolve = (reference) => reference;

/** Replaces random ids of contained resources by numbered ones. */
function withOwnContainedIds(resource: Json): Json {
  const contained = objectsOf(resource.contained);
  if (contained.length === 0) return resource;
  const ids = new Map(contained.map(({ id }, index) => [`#${String(id)}`, `contained-${index + 1}`]));
  const renamed = tidied(resource, (reference) => {
    const id = ids.get(reference);
    return id === undefined ? reference : `#${id}`;
  }) as Json;
  const own = objectsOf(renamed.contained).map((each, index) => ({ ...each, id: `contained-${index + 1}` }));
  return { ...renamed, contained: own };
}

/** Elements that every resource may have and that say nothing by themselves. */
const BARE: ReadonlySet<string> = new Set(['resourceType', 'id', 'meta', 'text']);

/**
 * A panel without a date or value only groups results; it is dropped, the document still shows the grouping. An immunization
 * without a vaccine is how documents write that nothing is known about any.
 */
function hasContent(resource: Json): boolean {
  const names = Object.keys(resource).filter((name) => !BARE.has(name));
  if (resource.resourceType === 'Immunization' && resource.vaccineCode === undefined) return false;
  return resource.resourceType === 'Observation' && resource.hasMember !== undefined
    ? names.some((name) => /^(?:value|effective|component)/.test(name))
    : names.length > 0;
}

/**
 * A copy with references resolved and canonical URLs of systems, without empty objects, lists and texts, non-finite numbers,
 * unresolved references, element ids, and the attributes that the converter left where an element has no value
 * (`nullFlavor`); undefined when nothing is left.
 */
function tidied(value: unknown, resolve: Resolve): unknown {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (Array.isArray(value)) {
    const items = value.map((item) => tidied(item, resolve)).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (value === null || (typeof value === 'number' && !Number.isFinite(value))) return undefined;
  if (!isJson(value)) return value;
  // An element with attributes that the converter passed on as it was, instead of its text.
  if (value['#text'] !== undefined) return tidied(value['#text'], resolve);
  const copy: Record<string, unknown> = {};
  let isEmpty = true;
  for (const name of Object.keys(value)) {
    if ((name === 'id' && value.resourceType === undefined) || name.startsWith('@_')) continue;
    const part = tidied(replaced(name, value[name], resolve), resolve);
    if (part === undefined) continue;
    copy[name] = part;
    isEmpty = false;
  }
  return isEmpty ? undefined : copy;
}

function replaced(name: string, part: unknown, resolve: Resolve): unknown {
  if (name === 'extension') return withoutNarrativeReferences(part);
  if (typeof part !== 'string') return part;
  return name === 'reference' ? resolve(part) : name === 'system' ? (SYSTEMS[part] ?? part) : part;
}

/** These extensions refer to the narrative of the Composition, which is dropped. */
const withoutNarrativeReferences = (extensions: unknown): unknown =>
  objectsOf(extensions).filter(({ url }) => !NARRATIVE_REFERENCE.test(textOf(url) ?? ''));

/** Corrects known errors of the converter, in place. */
function corrected(resource: Json): Json {
  CORRECTIONS[textOf(resource.resourceType) ?? '']?.(resource as Record<string, unknown>);
  // The converter gives every dose the same, wrong unit.
  for (const dosage of objectsOf(resource.dosageInstruction) as Record<string, unknown>[])
    delete dosage.doseAndRate;
  return resource;
}

/**
 * What the converter invents, and what FHIR requires but the converter leaves out or puts elsewhere when a document gives a
 * null flavor or an unusual status.
 */
const CORRECTIONS: Readonly<Record<string, (resource: Record<string, unknown>) => void>> = {
  AllergyIntolerance: (allergy) => {
    // The converter marks every allergy as a food allergy.
    delete allergy.category;
    delete allergy.type;
  },
  Condition: (condition) => {
    if (condition.abatementDateTime !== undefined) endCondition(condition);
  },
  Encounter: (encounter) => {
    if (!isEncounterClass(encounter.class))
      encounter.class = { system: 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor', code: 'UNK' };
  },
  Goal: (goal) => {
    // Of a status without an equivalent, such as `new`, this claims the least.
    goal.lifecycleStatus ??= 'proposed';
    const [topic] = objectsOf(goal.category);
    if (topic !== undefined && objectsOf(goal.description)[0]?.text === 'Unknown goal')
      goal.description = topic;
  },
  Immunization: (immunization) => {
    if (immunization.occurrenceDateTime === undefined) immunization.occurrenceString ??= 'unknown';
  },
  Observation: (observation) => {
    observation.code ??= ABSENT;
  },
  Organization: (organization) => {
    // FHIR constraint org-2.
    for (const address of objectsOf(organization.address) as Record<string, unknown>[])
      if (address.use === 'home') delete address.use;
  },
  Practitioner: (practitioner) => {
    const qualifications = objectsOf(practitioner.qualification);
    if (qualifications.length === 0) return;
    practitioner.qualification = qualifications.map((each) =>
      each.code === undefined ? { code: each } : each,
    );
  },
};
const ABSENT = {
  extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }],
};

/** A condition with an abatement is not active (FHIR constraint con-4); the converter marks every listed problem active. */
function endCondition(condition: Record<string, unknown>): void {
  const system = 'http://terminology.hl7.org/CodeSystem/condition-clinical';
  condition.clinicalStatus = { coding: [{ system, code: 'resolved' }] };
}

const isEncounterClass = (value: unknown): boolean =>
  isJson(value) && ENCOUNTER_CLASSES.includes(textOf(value.code) ?? '');
