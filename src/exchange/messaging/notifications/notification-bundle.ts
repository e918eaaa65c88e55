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
 */
export function encounterResource(
  id: string,
  patientId: string,
  state: EncounterState,
): Encounter {
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
    period: { start: admittedAt, end: dischargedAt },
    location: staysOf(state),
    ...(disposition === undefined
      ? {}
      : { hospitalization: { dischargeDisposition: { text: disposition } } }),
  };
}

function staysOf({
  transfers,
  location,
  admittedAt,
  dischargedAt,
}: EncounterState): EncounterLocation[] {
  const places = [transfers[0]?.from, ...transfers.map(({ to }) => to)];
  if (transfers.length === 0) places[0] = location;
  return places.flatMap((display, index) =>
    display === undefined
      ? []
      : [
          {
            location: { display },
            period: {
              start: index === 0 ? admittedAt : transfers[index - 1]?.at,
              end: transfers[index]?.at ?? dischargedAt,
            },
          },
        ],
  );
}
