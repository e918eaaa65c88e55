import { isJson, type Json, objectsOf, textOf } from './json.ts';

/** Elements that say about whom a resource is; Appointment says it in `participant.actor`. */
const SUBJECT_ELEMENTS = ['patient', 'subject', 'beneficiary', 'for', 'individual'];

export interface Target {
  type: string;
  id: string;
}

/** `Type/id`, also with a version, and only that: an address of some server names nothing here. */
export function localTarget(reference: string): Target | undefined {
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

/** Ids of the Patients that a resource says it is about. */
export function subjectIds(resource: Json): string[] {
  const participants = objectsOf(resource.participant).map(({ actor }) => actor);
  return [...SUBJECT_ELEMENTS.map((element) => resource[element]), ...participants]
    .flatMap(objectsOf)
    .flatMap(({ reference, type }) => {
      const text = textOf(reference);
      if (text === undefined) return [];
      const target = localTarget(text);
      if (target !== undefined) return target.type === 'Patient' ? [target.id] : [];
      // What cannot be read as ours must not pass for it.
      return type === 'Patient' || text.includes('Patient/') ? [text] : [];
    });
}
