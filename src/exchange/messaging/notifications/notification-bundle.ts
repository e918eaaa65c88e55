import type {
  Bundle,
  Encounter,
  EncounterLocation,
  FhirResource,
  Patient,
} from 'fhir/r4.js';
import type { StoredPatient } from '../../people/patients/patient-store.ts';
import type { EncounterState } from './rules/encounter-state.ts';

const GENDERS = { M: 'male', F: 'female', O: 'other', U: 'unknown' } as const;
const ACT_CODES = 'http://terminology.hl7.org/CodeSystem/v3-ActCode';
const NULL_FLAVOR = 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor';

/**
 * The Bundle behind a notification's link: our Patient, and the resources that
 * the sender reported (`Patient/person`).
 */
export const notificationBundle = (
  patient: StoredPatient,
  resources: readonly FhirResource[],
): Bundle => ({
  resourceType: 'Bundle',
  type: 'collection',
  timestamp: new Date().toISOString(),
  entry: [
    patientResource(patient),
    ...resources.map((resource) => withPatient(resource, patient.id)),
  ].map((resource) => ({ resource })),
});

const withPatient = (resource: FhirResource, patientId: string): FhirResource =>
  JSON.parse(JSON.stringify(resource), (key, part: unknown) =>
    key === 'reference' && part === 'Patient/person'
      ? `Patient/${patientId}`
      : part,
  ) as FhirResource;

function patientResource(patient: StoredPatient): Patient {
  return {
    resourceType: 'Patient',
    id: patient.id,
    name: [{ given: patient.firstNames, family: patient.lastNames.join(' ') }],
    birthDate: patient.dob,
    gender: GENDERS[patient.gender],
    address: patient.addresses.map(
      ({ addressLine1, addressLine2, city, state, zip, country }) => ({
        line: [
          addressLine1,
          ...(addressLine2 === undefined ? [] : [addressLine2]),
        ],
        city,
        state,
        postalCode: zip,
        country,
      }),
    ),
    telecom: patient.contacts.flatMap(({ phone, email }) => [
      ...(phone === undefined
        ? []
        : [{ system: 'phone' as const, value: phone }]),
      ...(email === undefined
        ? []
        : [{ system: 'email' as const, value: email }]),
    ]),
  };
}

/**
 * An encounter in its present state, also if the notification was about an
 * earlier fact.
 *
 * @param written how the sender wrote a time in UTC, with its own offset
 */
export function encounterResource(
  id: string,
  patientId: string,
  state: EncounterState,
  written: ReadonlyMap<string, string> = new Map(),
): Encounter {
  const shown = (at: string | undefined) =>
    at === undefined ? undefined : (written.get(at) ?? at);
  const { status, admittedAt, dischargedAt, encounterClass, disposition } =
    state;
  return {
    resourceType: 'Encounter',
    id,
    status,
    class:
      encounterClass === undefined
        ? { system: NULL_FLAVOR, code: 'UNK' }
        : { system: ACT_CODES, code: encounterClass },
    subject: { reference: `Patient/${patientId}` },
    period: { start: shown(admittedAt), end: shown(dischargedAt) },
    location: staysOf(state, shown),
    ...(disposition === undefined
      ? {}
      : { hospitalization: { dischargeDisposition: { text: disposition } } }),
  };
}

/**
 * Every place of a stay. One that a transfer names as the place before, and no
 * message reported, is there, too, since an unknown time.
 */
function staysOf(
  state: EncounterState,
  shown: (at: string | undefined) => string | undefined,
): EncounterLocation[] {
  const { transfers, location, firstLocation } = state;
  const stays: { display: string; start?: string; end?: string }[] = [];
  const goTo = (display: string | undefined, start?: string) => {
    if (display !== undefined) stays.push({ display, start });
  };
  const [firstTransfer] = transfers;
  goTo(
    firstTransfer === undefined
      ? location
      : (firstLocation ?? firstTransfer.from),
    state.admittedAt,
  );
  for (const { at, from, to } of transfers) {
    if (from !== undefined && !isOnePlace(from, stays.at(-1)?.display))
      goTo(from);
    const last = stays.at(-1);
    if (last !== undefined) last.end = at;
    goTo(to, at);
  }
  const last = stays.at(-1);
  if (last !== undefined) last.end = state.dischargedAt;
  return stays.map(({ display, start, end }) => ({
    location: { display },
    period: { start: shown(start), end: shown(end) },
  }));
}

/** Only one of two names of a place may have its facility: `5E-512, MERCY`. */
function isOnePlace(a: string, b: string | undefined): boolean {
  if (b === undefined) return false;
  return a === b || a.startsWith(`${b}, `) || b.startsWith(`${a}, `);
}
