import { type Json, objectsOf } from '../json.ts';
import {
  codingsOf,
  has,
  inEach,
  orUnknown,
  type Profile,
  type Requirement,
  requiredAll,
  unknown,
  unknownConcept,
} from './profile.ts';

const IDENTIFIER = inEach('identifier', { _system: unknown, _value: unknown });
const TELECOM = inEach('telecom', { _system: unknown, _value: unknown });

const SYSTEMS = {
  npi: 'http://hl7.org/fhir/sid/us-npi',
  clia: 'urn:oid:2.16.840.1.113883.4.7',
  naic: 'urn:oid:2.16.840.1.113883.6.300',
};

/** Numbers of the known systems have the form of their system (us-core-16 to us-core-19). */
const numbersWellFormed: Requirement = {
  element: 'identifier',
  holds: ({ identifier }) =>
    objectsOf(identifier).every(({ system, value }) => {
      const text = typeof value === 'string' ? value : '';
      if (system === SYSTEMS.npi) return isNpi(text);
      if (system === SYSTEMS.clia) return /^\d{2}D\d{7}$/.test(text);
      return system !== SYSTEMS.naic || /^\d{5}$/.test(text);
    }),
};

/** Ten digits with the check digit of Luhn, after the prefix 80840 that stands for 24. */
function isNpi(text: string): boolean {
  if (!/^\d{10}$/.test(text)) return false;
  const sum = [...text].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 24);
  return sum % 10 === 0;
}

const OMB = ['race', 'ethnicity'].map(
  (name) => `http://hl7.org/fhir/us/core/StructureDefinition/us-core-${name}`,
);

/** Race and ethnicity, if they are stated, have their text. */
const statedInWords: Requirement = {
  element: 'extension',
  holds: ({ extension }) =>
    objectsOf(extension)
      .filter(({ url }) => OMB.includes(String(url)))
      .every((each) =>
        objectsOf(each.extension).some(({ url, valueString }) => url === 'text' && valueString !== undefined),
      ),
};

const SEX = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-sex';

/** The extension for the sex has another type in each version, and the same address. */
const sexIn = (version: Requirement['version'], type: 'valueCode' | 'valueCoding'): Requirement => ({
  element: 'extension',
  version,
  isOfVersion: true,
  holds: ({ extension }) =>
    objectsOf(extension).every((each) => each.url !== SEX || each[type] !== undefined),
});

const named: Requirement = {
  element: 'name.family, given',
  holds: ({ name }) => objectsOf(name).every((each) => has(each, 'family') || has(each, 'given')),
  fill: ({ name }) => ({
    name: objectsOf(name).map((each) =>
      has(each, 'family') || has(each, 'given') ? each : { ...each, ...unknown() },
    ),
  }),
};

/** Our own number of the person. */
const ourNumber = ({ id }: Json): Json => ({
  identifier: [{ system: 'urn:medical-exchange:patient', value: id }],
});

export const SUPPORTING_PROFILES: readonly Profile[] = [
  {
    name: 'us-core-patient',
    type: 'Patient',
    requires: [
      ...requiredAll('name', 'gender'),
      orUnknown('identifier', ourNumber),
      IDENTIFIER,
      TELECOM,
      named,
      statedInWords,
      sexIn('8.0.0', 'valueCoding'),
      sexIn('6.1.0', 'valueCode'),
    ],
  },
  {
    name: 'us-core-location',
    type: 'Location',
    requires: [
      orUnknown('name', () => ({ _name: unknown() })),
      {
        element: 'type',
        version: '8.0.0',
        holds: ({ type }) =>
          objectsOf(type).every(
            (each) =>
              codingsOf(each).length > 0 &&
              codingsOf(each).every((coding) => has(coding, 'system') && has(coding, 'code')),
          ),
      },
    ],
  },
  {
    name: 'us-core-medication',
    type: 'Medication',
    requires: [orUnknown('code', () => ({ code: unknownConcept() }))],
  },
  {
    name: 'us-core-organization',
    type: 'Organization',
    requires: [
      orUnknown('active', () => ({ _active: unknown() })),
      orUnknown('name', () => ({ _name: unknown() })),
      // org-1 of FHIR itself
      {
        element: 'name',
        holds: ({ name, identifier }) => name !== undefined || objectsOf(identifier).length > 0,
      },
      numbersWellFormed,
    ],
  },
  {
    name: 'us-core-practitioner',
    type: 'Practitioner',
    requires: [
      orUnknown('name', () => ({ name: [{ _family: unknown() }] })),
      orUnknown('identifier', () => ({ identifier: [{ _system: unknown(), _value: unknown() }] })),
      IDENTIFIER,
      inEach('name', { _family: unknown }),
      numbersWellFormed,
    ],
  },
  {
    name: 'us-core-practitionerrole',
    type: 'PractitionerRole',
    requires: [
      TELECOM,
      // pd-1
      { element: 'telecom', holds: (resource) => has(resource, 'telecom') || has(resource, 'endpoint') },
      {
        element: 'practitioner',
        holds: (resource) =>
          ['practitioner', 'organization', 'healthcareService', 'location'].some((element) =>
            has(resource, element),
          ),
        fill: () => ({ practitioner: unknown() }),
      },
    ],
  },
  {
    name: 'us-core-provenance',
    type: 'Provenance',
    requires: [
      ...requiredAll('target', 'agent', 'recorded'),
      {
        element: 'agent.who',
        holds: ({ agent, contained }) =>
          objectsOf(agent).every((each) => isResolved(each, objectsOf(contained))),
      },
    ],
  },
  {
    name: 'us-core-relatedperson',
    type: 'RelatedPerson',
    requires: [
      ...requiredAll('patient'),
      orUnknown('active', () => ({ _active: unknown() })),
      {
        element: 'relationship',
        holds: (resource) => has(resource, 'name') || has(resource, 'relationship'),
        fill: () => ({ relationship: [unknownConcept()] }),
      },
    ],
  },
  {
    name: 'us-core-specimen',
    type: 'Specimen',
    requires: [orUnknown('type', () => ({ type: unknownConcept() }))],
  },
];

/** An agent that can be found; a practitioner or device acts on behalf of an organization (provenance-1). */
function isResolved(agent: Json, contained: readonly Json[]): boolean {
  const [who] = objectsOf(agent.who);
  const reference = typeof who?.reference === 'string' ? who.reference : '';
  const inside = contained.find(({ id }) => reference === `#${String(id)}`);
  const target = inside === undefined ? /^([A-Za-z]+)\//.exec(reference)?.[1] : String(inside.resourceType);
  if (target === 'Practitioner' || target === 'Device') return has(agent, 'onBehalfOf');
  return ['Organization', 'Patient', 'PractitionerRole', 'RelatedPerson'].includes(target ?? '');
}
