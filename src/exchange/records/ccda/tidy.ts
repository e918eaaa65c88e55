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
 * code system URLs, no empty elements. Drops the Patient and Composition of the header (the document itself is stored)
 * and resources without content.
 */
export function tidyResources(converted: readonly Json[], unit: string, patientId: string): Json[] {
  const tidy = converted
    .filter(({ resourceType }) => resourceType !== 'Patient' && resourceType !== 'Composition')
    .map((resource) => corrected(withoutEmpty(resource) as Json));
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
  const resolve = (reference: string) =>
    reference.startsWith('#') ? reference : reference.startsWith('Patient/') ? patient : names.get(reference);
  return kept.map((resource) => withoutEmpty(withReferences(withOwnContainedIds(resource), resolve)) as Json);
}

/** Replaces random ids of contained resources by numbered ones. */
function withOwnContainedIds(resource: Json): Json {
  const contained = objectsOf(resource.contained);
  if (contained.length === 0) return resource;
  const ids = new Map(contained.map(({ id }, index) => [`#${String(id)}`, `contained-${index + 1}`]));
  const renamed = withReferences(resource, (reference) => {
    const id = ids.get(reference);
    return id === undefined ? reference : `#${id}`;
  }) as Json;
  const own = objectsOf(renamed.contained).map((each, index) => ({ ...each, id: `contained-${index + 1}` }));
  return { ...renamed, contained: own };
}

/** A panel without a date or value only groups results; it is dropped, the document still shows the grouping. */
function hasContent({ resourceType, id: _id, meta: _meta, text: _text, ...rest }: Json): boolean {
  if (resourceType === 'Observation' && rest.hasMember !== undefined) {
    return Object.keys(rest).some((name) => /^(?:value|effective|component)/.test(name));
  }
  return Object.keys(rest).length > 0;
}

function withReferences(value: unknown, resolve: (reference: string) => string | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, resolve));
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      name === 'reference' && typeof part === 'string' ? resolve(part) : withReferences(part, resolve),
    ]),
  );
}

/** A copy without empty objects, lists and texts, non-finite numbers, and element ids; undefined when nothing is left. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (value === null || (typeof value === 'number' && !Number.isFinite(value))) return undefined;
  if (!isJson(value)) return value;
  const entries = Object.entries(value).flatMap(([name, part]) => {
    if (name === 'id' && value.resourceType === undefined) return [];
    const left = name === 'extension' ? withoutEmpty(withoutNarrativeReferences(part)) : withoutEmpty(part);
    return left === undefined ? [] : [[name, left] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** These extensions refer to the narrative of the Composition, which is dropped. */
const withoutNarrativeReferences = (extensions: unknown): unknown =>
  objectsOf(extensions).filter(({ url }) => !NARRATIVE_REFERENCE.test(textOf(url) ?? ''));

/** Corrects known errors of the converter. */
function corrected(resource: Json): Json {
  const named = withSystems(resource) as Record<string, unknown>;
  if (named.resourceType === 'Encounter' && !isEncounterClass(named.class)) {
    named.class = { system: 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor', code: 'UNK' };
  }
  // The converter marks every allergy as a food allergy.
  if (named.resourceType === 'AllergyIntolerance') {
    delete named.category;
    delete named.type;
  }
  if (named.resourceType === 'Condition' && named.abatementDateTime !== undefined) endCondition(named);
  // The converter gives every dose the same, wrong unit.
  for (const dosage of objectsOf(named.dosageInstruction) as Record<string, unknown>[])
    delete dosage.doseAndRate;
  return named;
}

/** A condition with an abatement is not active (FHIR constraint con-4); the converter marks every listed problem active. */
function endCondition(condition: Record<string, unknown>): void {
  const system = 'http://terminology.hl7.org/CodeSystem/condition-clinical';
  condition.clinicalStatus = { coding: [{ system, code: 'resolved' }] };
}

const isEncounterClass = (value: unknown): boolean =>
  isJson(value) && ENCOUNTER_CLASSES.includes(textOf(value.code) ?? '');

function withSystems(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSystems);
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      name === 'system' && typeof part === 'string' ? (SYSTEMS[part] ?? part) : withSystems(part),
    ]),
  );
}
