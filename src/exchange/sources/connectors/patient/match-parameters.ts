import type { Address, ContactPoint, HumanName, Identifier, Parameters, Patient } from 'fhir/r4.js';
import type {
  Demographics,
  Gender,
  PersonalIdentifier,
} from '../../../people/patients/rules/demographics.ts';

const GENDER: Record<Gender, NonNullable<Patient['gender']>> = {
  M: 'male',
  F: 'female',
  O: 'other',
  U: 'unknown',
};

/** The body of `Patient/$match`: all demographics we have, for the source's own matching. */
export function matchParameters(person: Demographics, candidatesMax: number): Parameters {
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'resource', resource: patientOf(person) },
      { name: 'count', valueInteger: candidatesMax },
    ],
  };
}

/** Without empty lists, which FHIR does not allow. */
function patientOf(person: Demographics): Patient {
  const described: Patient = {
    resourceType: 'Patient',
    name: namesOf(person),
    gender: GENDER[person.gender],
    birthDate: person.dob,
    address: person.addresses.map((address): Address => {
      return {
        line: [address.addressLine1, address.addressLine2 ?? ''].filter((line) => line !== ''),
        city: address.city,
        state: address.state,
        postalCode: address.zip,
        country: address.country,
      };
    }),
    telecom: person.contacts.flatMap(({ phone, email }): ContactPoint[] => [
      ...(phone === undefined ? [] : [{ system: 'phone' as const, value: phone }]),
      ...(email === undefined ? [] : [{ system: 'email' as const, value: email }]),
    ]),
    identifier: person.personalIdentifiers.map(identifierOf),
  };
  const members = Object.entries(described).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return Object.fromEntries(members) as unknown as Patient;
}

/** Several last names may be one double name or alternatives, so both are sent. */
function namesOf({ firstNames, lastNames }: Demographics): HumanName[] {
  const families = lastNames.length > 1 ? [lastNames.join(' '), ...lastNames] : lastNames;
  return families.map((family) => ({ family, given: firstNames }));
}

const IDENTIFIER_TYPES = 'http://terminology.hl7.org/CodeSystem/v2-0203';

function identifierOf(identifier: PersonalIdentifier): Identifier {
  if (identifier.type === 'ssn') {
    return {
      system: 'http://hl7.org/fhir/sid/us-ssn',
      type: { coding: [{ system: IDENTIFIER_TYPES, code: 'SS' }] },
      value: identifier.value,
    };
  }
  const assigner = identifier.assigner ?? identifier.state;
  return {
    type: { coding: [{ system: IDENTIFIER_TYPES, code: 'DL' }] },
    value: identifier.value,
    ...(assigner === undefined ? {} : { assigner: { display: assigner } }),
  };
}
