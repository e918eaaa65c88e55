import type { Bundle, Encounter, FhirResource, Patient } from 'fhir/r4.js';
import type { AdtFacts } from './hl7v2.ts';

/**
 * A Bundle with the current state of the encounter, with a fill, or with a
 * result.
 */
export function simulatedNotification(facts: AdtFacts): Bundle {
  const resources = [simulatedPatient(facts), ...subjectsOf(facts)];
  return {
    resourceType: 'Bundle',
    id: facts.id,
    type: 'collection',
    timestamp: facts.event.at,
    entry: resources.map((resource) => ({ resource })),
  };
}

function simulatedPatient({ sample, record }: AdtFacts): Patient {
  const { firstName, lastName, dob, genderAtBirth, address } =
    sample.createBody;
  return {
    resourceType: 'Patient',
    id: record,
    identifier: [
      {
        type: { coding: [{ code: 'MR' }] },
        system: 'urn:simulated-source:mercy:record-number',
        value: record,
      },
    ],
    name: [{ family: lastName, given: [firstName] }],
    birthDate: dob,
    gender: genderAtBirth === 'M' ? 'male' : 'female',
    address: address.map(({ addressLine1, city, state, zip }) => ({
      line: [addressLine1],
      city,
      state,
      postalCode: zip,
    })),
  };
}

function subjectsOf(facts: AdtFacts): FhirResource[] {
  switch (facts.event.event) {
    case 'fill':
      return fillOf(facts);
    case 'result':
      return resultOf(facts);
    default:
      return [encounterOf(facts)];
  }
}

function encounterOf({
  event,
  record,
  visitNumber,
  visit,
}: AdtFacts): Encounter {
  const { isCancelled, admittedAt, dischargedAt, stays } = visit;
  const ongoing = dischargedAt === undefined ? 'in-progress' : 'finished';
  return {
    resourceType: 'Encounter',
    id: visitNumber,
    meta: { lastUpdated: event.at },
    status: isCancelled ? 'cancelled' : ongoing,
    class: {
      system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
      code: 'IMP',
    },
    subject: { reference: `Patient/${record}` },
    period: { start: admittedAt, end: dischargedAt },
    location: stays.map(({ location, from }) => ({
      location: { display: location },
      period: { start: from },
    })),
  };
}

const fillOf = ({ id, event, record }: AdtFacts): FhirResource[] => [
  {
    resourceType: 'MedicationDispense',
    id: `dispense-${id}`,
    status: 'completed',
    subject: { reference: `Patient/${record}` },
    medicationCodeableConcept: { text: 'Lisinopril 10 MG Oral Tablet' },
    whenHandedOver: event.at,
  },
];

const resultOf = ({ id, event, record }: AdtFacts): FhirResource[] => [
  {
    resourceType: 'DiagnosticReport',
    id: `report-${id}`,
    status: 'final',
    code: { text: 'Basic metabolic panel' },
    subject: { reference: `Patient/${record}` },
    effectiveDateTime: event.at,
    specimen: [{ reference: `Specimen/specimen-${id}` }],
    result: [{ reference: `Observation/observation-${id}` }],
  },
  {
    resourceType: 'Observation',
    id: `observation-${id}`,
    status: 'final',
    code: { text: 'Glucose' },
    subject: { reference: `Patient/${record}` },
    effectiveDateTime: event.at,
    valueQuantity: { value: 92, unit: 'mg/dL' },
  },
  {
    resourceType: 'Specimen',
    id: `specimen-${id}`,
    subject: { reference: `Patient/${record}` },
    collection: { collectedDateTime: event.at },
  },
];
