import { objectsOf } from '#record-summary/fhir';
import { addressOf, type ResolvedSourceConfig } from '../source-config.ts';

/**
 * Elements that refer to the patient; Appointment does so in participant.actor.
 */
const SUBJECT_ELEMENTS = [
  'patient',
  'subject',
  'beneficiary',
  'for',
  'individual',
  'target',
];

const ID = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,128}$/;

/**
 * Whether a value can be used as an id: slightly wider than FHIR allows, but
 * never `.` or `..`.
 */
export function isResourceId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** The requested patients, as one source knows them. */
export interface Subjects {
  config: ResolvedSourceConfig;
  /** Patient ids of these people at the source. */
  ids: ReadonlySet<string>;
  /**
   * fullUrl (`urn:uuid:…`) to Patient id, for the Patients of the same
   * response.
   */
  urns: ReadonlyMap<string, string>;
}

export type Belonging = 'ours' | 'other' | 'unnamed';

/**
 * Whether a resource names only requested patients (`ours`), any other patient
 * (`other`), or none (`unnamed`).
 */
export function belongingOf(
  resource: Record<string, unknown>,
  subjects: Subjects,
): Belonging {
  if (resource.resourceType === 'Patient') {
    return typeof resource.id === 'string' && subjects.ids.has(resource.id)
      ? 'ours'
      : 'other';
  }
  const named = patientReferences(resource, subjects);
  if (named.length === 0) return 'unnamed';
  return named.every((reference) => isOurs(reference, subjects))
    ? 'ours'
    : 'other';
}

function patientReferences(
  resource: Record<string, unknown>,
  subjects: Subjects,
): string[] {
  const found: string[] = [];
  for (const element of SUBJECT_ELEMENTS)
    addPatientReferences(found, resource[element], subjects);
  for (const { actor } of objectsOf(resource.participant))
    addPatientReferences(found, actor, subjects);
  return found;
}

function addPatientReferences(
  found: string[],
  value: unknown,
  { urns }: Subjects,
): void {
  if (value === undefined) return;
  for (const { reference, type } of objectsOf(value)) {
    if (typeof reference !== 'string') continue;
    const isNamed =
      reference.startsWith('Patient/') || reference.includes('/Patient/');
    if (isNamed || urns.has(reference) || type === 'Patient')
      found.push(reference);
  }
}

/**
 * The ids of the Patients that a resource names; undefined for references to
 * Patients of other servers.
 */
export function namedPatientIds(
  resource: Record<string, unknown>,
  subjects: Subjects,
): Array<string | undefined> {
  return patientReferences(resource, subjects).map((reference) =>
    idOf(reference, subjects),
  );
}

function isOurs(reference: string, subjects: Subjects): boolean {
  const id = idOf(reference, subjects);
  return id !== undefined && subjects.ids.has(id);
}

const idOf = (
  reference: string,
  { urns, config }: Subjects,
): string | undefined => urns.get(reference) ?? patientIdOf(reference, config);

/**
 * The id in `Patient/1`, `Patient/1/_history/2`, or the same as a URL at one of
 * the source's own origins.
 */
export function patientIdOf(
  reference: string,
  config: ResolvedSourceConfig,
): string | undefined {
  const match =
    /^(?:(https?:\/\/[^?#]+)\/)?Patient\/([^/?#]+)(?:\/_history\/[^/?#]+)?$/.exec(
      reference,
    );
  if (match === null) return undefined;
  const [, base, id] = match;
  if (base !== undefined) {
    const isOurs =
      URL.canParse(base) &&
      config.allowedOrigins.has(addressOf(config, new URL(base)).origin);
    if (!isOurs) return undefined;
  }
  return isResourceId(id) ? id : undefined;
}
