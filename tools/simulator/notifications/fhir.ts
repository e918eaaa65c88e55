import type { Bundle, Encounter, FhirResource, Patient } from 'fhir/r4.js';
import type { SamplePatient } from '../samples.ts';
import type { NotifiedEvent } from './request.ts';
import type { Visit } from './visits.ts';

export interface BundleFacts {
  id: string;
  event: NotifiedEvent;
  sample: SamplePatient;
  record: string;
  visitNumber: string;
  visit: Visit;
}

/** A Bundle with the current state of the encounter, with a fill, or with a result. */
export function notificationBundle(facts: BundleFacts): Bundle {
  const patient = patientOf(facts);
  const subject = { reference: `Patient/${patient.id}` };
  return {
    resourceType: 'Bundle',
    id: facts.id,
    type: 'collection',
    timestamp: facts.event.at,
    entry: [patient, ...subjectsOf(facts, subject)].map((resource) => ({ resource })),
  };
}

function subjectsOf(facts: BundleFacts, subject: { reference: string }): FhirResource[] {
  const { id, event } = facts;
  switch (event.event) {
    case 'fill':
      return [
        {
          resourceType: 'MedicationDispense',
          id: `dispense-${id}`,
          status: 'completed',
          subject,
          medicationCodeableConcept: { text: 'Lisinopril 10 MG Oral Tablet' },
          whenHandedOver: event.at,
        },
      ];
    case 'result':
      return [
        {
          resourceType: 'DiagnosticReport',
          id: `report-${id}`,
          status: 'final',
          code: { text: 'Basic metabolic panel' },
          subject,
          effectiveDateTime: event.at,
          specimen: [{ reference: `Specimen/specimen-${id}` }],
          result: [{ reference: `Observation/observation-${id}` }],
        },
        {
          resourceType: 'Observation',
          id: `observation-${id}`,
          status: 'final',
          code: { text: 'Glucose' },
          subject,
          effectiveDateTime: event.at,
          valueQuantity: { value: 92, unit: 'mg/dL' },
        },
        {
          resourceType: 'Specimen',
          id: `specimen-${id}`,
          subject,
          collection: { collectedDateTime: event.at },
        },
      ];
    default:
      return [encounterOf(facts, subject)];
  }
}

function encounterOf({ event, visit, visitNumber }: BundleFacts, subject: { reference: string }): Encounter {
  const { isCancelled, admittedAt, dischargedAt, stays } = visit;
  return {
    resourceType: 'Encounter',
    id: visitNumber,
    meta: { lastUpdated: event.at },
    status: isCancelled ? 'cancelled' : dischargedAt === undefined ? 'in-progress' : 'finished',
    class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'IMP' },
    subject,
    period: { start: admittedAt, end: dischargedAt },
    location: stays.map(({ location, from }) => ({
      location: { display: location },
      period: { start: from },
    })),
  };
}

function patientOf({ sample, record }: BundleFacts): Patient {
  const { firstName, lastName, dob, genderAtBirth, address } = sample.createBody;
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
      ...{ city, state, postalCode: zip },
    })),
  };
}
