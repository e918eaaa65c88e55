import {
  canonical,
  isJson,
  type Json,
  objectsOf,
  sortedNames,
  textOf,
} from '#record-summary/fhir';

/**
 * Elements that refer to the patient; Appointment does so in
 * `participant.actor`.
 */
const SUBJECT_ELEMENTS = [
  'patient',
  'subject',
  'beneficiary',
  'for',
  'individual',
];

export interface LocalReference {
  type: string;
  id: string;
}

/**
 * Parses `Type/id`, with or without a version; undefined for anything else,
 * including absolute URLs.
 */
export function parseLocalReference(
  reference: string,
): LocalReference | undefined {
  const match =
    /^([A-Z][A-Za-z]+)\/([A-Za-z0-9._~-]{1,128})(?:\/_history\/[^/]+)?$/.exec(
      reference,
    );
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : { type: match[1], id: match[2] };
}

/** All references anywhere in a resource, contained resources included. */
export function referencesIn(value: unknown, found: string[] = []): string[] {
  if (Array.isArray(value)) {
    for (const item of value) referencesIn(item, found);
  } else if (isJson(value)) {
    if (typeof value.reference === 'string') found.push(value.reference);
    // Most members are texts, which need no call.
    for (const name of Object.keys(value))
      if (typeof value[name] === 'object') referencesIn(value[name], found);
  }
  return found;
}

/**
 * The ids of the Patients that a resource is about; an unreadable Patient
 * reference is returned as it is.
 */
export function subjectIds(resource: Json): string[] {
  const ids: string[] = [];
  for (const element of SUBJECT_ELEMENTS) addPatientIds(ids, resource[element]);
  for (const { actor } of objectsOf(resource.participant))
    addPatientIds(ids, actor);
  return ids;
}

function addPatientIds(ids: string[], subjects: unknown): void {
  if (subjects === undefined) return;
  for (const { reference, type } of objectsOf(subjects)) {
    const text = textOf(reference);
    if (text === undefined) continue;
    const target = parseLocalReference(text);
    if (target?.type === 'Patient') ids.push(target.id);
    // Must not be mistaken for a reference to our person.
    else if (
      target === undefined &&
      (type === 'Patient' || text.includes('Patient/'))
    )
      ids.push(text);
  }
}

/**
 * Returns the consolidated id of a source's `type/id`; undefined when it was
 * not delivered or is excluded, null when it is withheld.
 */
export type Resolve = (
  source: string,
  target: { type: string; id: string },
) => string | null | undefined;

/**
 * A copy in canonical order whose references point to consolidated resources,
 * or are logical references.
 */
export function rewriteReferences<T>(
  member: { source: string },
  value: T,
  patientId: string,
  resolve: Resolve,
): T {
  const copy = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(copy);
    if (!isJson(item)) return item;
    const copied: Record<string, unknown> = {};
    for (const name of sortedNames(item)) {
      const part = item[name];
      if (part !== undefined && name !== '__proto__')
        copied[name] = typeof part === 'object' ? copy(part) : part;
    }
    return typeof item.reference === 'string'
      ? canonical(
          referenceOf(
            copied,
            item.reference,
            member.source,
            patientId,
            resolve,
          ),
        )
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
  const target = parseLocalReference(reference);
  if (target?.type === 'Patient') {
    const id = resolve(source, target);
    if (typeof id === 'string')
      return { ...copied, reference: `Patient/${patientId}` };
    // Another person's id, name and identifiers must not appear in this record.
    return { type: 'Patient', display: 'Another person' };
  }
  const id = target === undefined ? undefined : resolve(source, target);
  // Its display would say what is withheld.
  if (id === null) return { type: target?.type, display: 'Withheld' };
  if (target !== undefined && id !== undefined)
    return { ...copied, reference: `${target.type}/${id}` };
  const { reference: _reference, ...rest } = copied;
  return {
    ...rest,
    ...(rest.type === undefined ? typeNamed(reference) : {}),
    ...(rest.identifier === undefined
      ? { identifier: logicalTarget(source, reference) }
      : {}),
  };
}

const typeNamed = (reference: string): { type?: string } => {
  const type = /^(?:.*\/)?([A-Z][A-Za-z]+)[/?]/.exec(reference)?.[1];
  return type === undefined ? {} : { type };
};

/**
 * Identifies a resource that was not delivered: by the identifier in a
 * conditional reference, or its id at the source.
 */
function logicalTarget(
  source: string,
  reference: string,
): { system: string; value: string } {
  const searched = /^[A-Z][A-Za-z]+\?identifier=([^|&]+)\|([^&]+)$/.exec(
    reference,
  );
  if (searched?.[1] !== undefined && searched[2] !== undefined) {
    return { system: searched[1], value: searched[2] };
  }
  return /^(?:https?|urn):/.test(reference)
    ? { system: 'urn:ietf:rfc:3986', value: reference }
    : { system: sourceSystem(source), value: reference };
}

/**
 * The identifier system of a source's own ids:
 * `urn:medical-exchange:source:hie`.
 */
export const sourceSystem = (source: string): string =>
  `urn:medical-exchange:source:${source}`;
