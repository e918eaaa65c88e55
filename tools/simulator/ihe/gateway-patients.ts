import type { ContactPoint, Identifier, Patient } from 'fhir/r4.js';
import {
  type DiscoveryCriteria,
  type MatchedPatient,
  type PersonFacts,
  readHl7Time,
  SSN_ROOT,
  writeHl7Date,
} from '#ihe';
import { SIMULATED_GATEWAY } from '../../../src/local-stack/simulator/protocol.ts';
import type { Candidate, PersonQuery } from '../routes/match.ts';

/** The authority of the ids that the gateway gives its patients. */
export const GATEWAY_PATIENTS = `${SIMULATED_GATEWAY.homeCommunity}.1`;

/** What ITI-55 asks for, in the terms of the source's own search. */
export function queryOfCriteria(criteria: DiscoveryCriteria): PersonQuery {
  const [birthTime] = criteria.birthTimes;
  const [gender] = criteria.genders;
  return {
    families: criteria.names.flatMap(({ family }) => family),
    givens: criteria.names.flatMap(({ given }) => given),
    birthDate: birthTime === undefined ? undefined : dateOf(birthTime),
    gender: gender === undefined ? undefined : FHIR_GENDERS[gender],
    zips: criteria.addresses.flatMap(({ zip }) => zip ?? []),
    identifiers: criteria.ids.flatMap(({ extension }) => extension ?? []),
  };
}

const FHIR_GENDERS: Readonly<Record<string, string>> = {
  F: 'female',
  M: 'male',
  UN: 'other',
};

const dateOf = (birthTime: string): string | undefined =>
  readHl7Time(birthTime).date;

/** A candidate as the gateway gives them out for one of its communities. */
export const matchOf = (
  { patient, score }: Candidate,
  homeCommunity: string,
): MatchedPatient => ({
  patientId: { root: GATEWAY_PATIENTS, extension: patient.id },
  homeCommunity,
  person: personOf(patient),
  confidence: Math.round(score * 100),
});

function personOf(patient: Patient): PersonFacts {
  return {
    names: (patient.name ?? []).map((name) => ({
      family: name.family === undefined ? [] : [name.family],
      given: name.given ?? [],
      prefix: name.prefix ?? [],
      suffix: name.suffix ?? [],
    })),
    gender: HL7_GENDERS[patient.gender ?? ''],
    birthTime:
      patient.birthDate === undefined
        ? undefined
        : readHl7Time(writeHl7Date(patient.birthDate)),
    addresses: (patient.address ?? []).map((address) => ({
      lines: address.line ?? [],
      city: address.city,
      state: address.state,
      zip: address.postalCode,
      country: address.country,
    })),
    telecoms: (patient.telecom ?? []).flatMap(telecomOf),
    otherIds: (patient.identifier ?? []).flatMap(ssnOf),
  };
}

const HL7_GENDERS: Readonly<Record<string, string>> = {
  female: 'F',
  male: 'M',
  other: 'UN',
};

function telecomOf({ system, value }: ContactPoint): string[] {
  if (value === undefined) return [];
  if (system === 'phone') return [`tel:+1-${value}`];
  return system === 'email' ? [`mailto:${value}`] : [];
}

const ssnOf = ({ system, value }: Identifier) =>
  system === 'http://hl7.org/fhir/sid/us-ssn' && value !== undefined
    ? [{ root: SSN_ROOT, extension: value.replaceAll('-', '') }]
    : [];
