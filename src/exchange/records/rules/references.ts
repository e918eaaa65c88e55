import { isJson, type Json, objectsOf, textOf } from './json.ts';

/** Elements that refer to the patient; Appointment does so in `participant.actor`. */
const SUBJECT_ELEMENTS = ['patient', 'subject', 'beneficiary', 'for', 'individual'];

export interface LocalReference {
  type: string;
  id: string;
}

/** Parses `Type/id`, with or without a version; undefined for anything else, including absolute URLs. */
export function parseLocalReference(reference: string): LocalReference | undefined {
  const match = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9._~-]{1,128})(?:\/_history\/[^/]+)?$/.exec(reference);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { type: match[1], id: match[2] };
}

/** All references anywhere in a resource, contained resources included. */
export function referencesIn(value: unknown, found: string[] = []): string[] {
  if (Array.isArray(value)) {
    for (const item of value) referencesIn(item, found);
  } else if (isJson(value)) {
    if (typeof value.reference === 'string') found.push(value.reference);
    for (const item of Object.values(value)) referencesIn(item, found);
  }
  return found;
}

/** The ids of the Patients that a resource is about; an unreadable Patient reference is returned as it is. */
export function subjectIds(resource: Json): string[] {
  const ids: string[] = [];
  for (const element of SUBJECT_ELEMENTS) addPatientIds(ids, resource[element]);
  for (const { actor } of objectsOf(resource.participant)) addPatientIds(ids, actor);
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
    else if (target === undefined && (type === 'Patient' || text.includes('Patient/'))) ids.push(text);
  }
}
