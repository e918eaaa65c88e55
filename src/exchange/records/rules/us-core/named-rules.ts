import { isJson, type Json, objectsOf, textOf } from '../json.ts';
import {
  codingsOf,
  has,
  hasCode,
  inEach,
  LOINC,
  orUnknown,
  type Requirement,
  requiredAll,
  UCUM,
  unknown,
  unknownConcept,
} from './profile.ts';

/** The rules of US Core that are more than "this element is there", by the names that `profiles.json` gives them. */

const NULL_FLAVOR = 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor';
const SYSTEMS = {
  npi: 'http://hl7.org/fhir/sid/us-npi',
  clia: 'urn:oid:2.16.840.1.113883.4.7',
  naic: 'urn:oid:2.16.840.1.113883.6.300',
};
/** Intents of a prescription that has somebody who ordered it (us-core-21). */
const ORDERED = ['order', 'original-order', 'reflex-order', 'filler-order', 'instance-order'];
const SEX = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-sex';
const OMB = ['race', 'ethnicity'].map(
  (name) => `http://hl7.org/fhir/us/core/StructureDefinition/us-core-${name}`,
);
const PRESSURE = ['mm[Hg]'];
/** Oxygen flow and concentration, which pulse oximetry may have as components. */
const OXYGEN: Readonly<Record<string, readonly string[]>> = { '3151-8': ['L/min'], '3150-0': ['%'] };

const hasContent = (part: unknown): boolean => isJson(part) && (has(part, 'url') || has(part, 'data'));
const isNamed = (name: Json): boolean => has(name, 'family') || has(name, 'given');
const hasValue = (part: Json): boolean => has(part, 'value[x]') || has(part, 'dataAbsentReason');

/** The extension for the sex has another type in each version, and the same address. */
const sexIn = (version: Requirement['version'], type: 'valueCode' | 'valueCoding'): Requirement => ({
  element: 'extension',
  version,
  isOfVersion: true,
  holds: ({ extension }) =>
    objectsOf(extension).every((each) => each.url !== SEX || each[type] !== undefined),
});

/** A result says its value or why there is none, unless it consists of others (us-core-2, vs-2). */
const result: Requirement = {
  element: 'value[x]',
  holds: (resource) => hasValue(resource) || has(resource, 'component') || has(resource, 'hasMember'),
  fill: () => ({ dataAbsentReason: unknownConcept() }),
};

/** A time that is at least a day (us-core-1, vs-1). */
const exactToTheDay: Requirement = {
  element: 'effectiveDateTime',
  holds: ({ effectiveDateTime }) =>
    effectiveDateTime === undefined || (textOf(effectiveDateTime)?.length ?? 0) >= 'YYYY-MM-DD'.length,
};

const basics = [...requiredAll('status', 'code', 'subject', 'category'), result];

export const NAMED_RULES: Readonly<Record<string, Requirement | readonly Requirement[]>> = {
  narrative: {
    element: 'text',
    holds: ({ text }) =>
      isJson(text) && has(text, 'div') && ['generated', 'additional'].includes(textOf(text.status) ?? ''),
  },
  'assess-plan': {
    element: 'category',
    version: '6.1.0',
    holds: ({ category }) =>
      hasCode(category, 'http://hl7.org/fhir/us/core/CodeSystem/careplan-category', ['assess-plan']),
  },
  members: inEach('participant', { role: () => [unknownConcept()], member: unknown }),
  'member-number': {
    element: 'subscriberId',
    holds: (resource) =>
      has(resource, 'subscriberId') ||
      objectsOf(resource.identifier).some(({ type }) =>
        hasCode(type, 'http://terminology.hl7.org/CodeSystem/v2-0203', ['MB']),
      ),
    fill: () => ({ _subscriberId: unknown() }),
  },
  'document-type': orUnknown('type', () => ({
    type: { coding: [{ system: NULL_FLAVOR, code: 'UNK', display: 'unknown' }] },
  })),
  'loinc-type': {
    element: 'type',
    holds: ({ type }) =>
      hasCode(type, NULL_FLAVOR, ['UNK']) || codingsOf(type).some(({ system }) => system === LOINC),
  },
  'content-address': {
    element: 'content.attachment.url, data',
    holds: ({ content }) => objectsOf(content).every(({ attachment }) => hasContent(attachment)),
    fill: ({ content }) => ({
      content: objectsOf(content).map((each) => ({
        ...each,
        attachment: hasContent(each.attachment)
          ? each.attachment
          : { ...(isJson(each.attachment) ? each.attachment : {}), _url: unknown() },
      })),
    }),
  },
  requester: {
    element: 'requester',
    holds: (resource) => !ORDERED.includes(textOf(resource.intent) ?? '') || has(resource, 'requester'),
    fill: () => ({ requester: unknown() }),
  },
  clinical: [
    ...basics,
    exactToTheDay,
    // us-core-3
    {
      element: 'valueQuantity.system',
      holds: ({ valueQuantity }) =>
        objectsOf(valueQuantity).every(({ system }) => system === undefined || system === UCUM),
    },
  ],
  'vital-sign': [
    ...basics,
    orUnknown('effective[x]', () => ({ _effectiveDateTime: unknown() })),
    // vs-1 allows a period in words, but its expression, which validators evaluate, holds for no period.
    {
      element: 'effective[x]',
      holds: (resource) =>
        !['effectiveTiming', 'effectiveInstant', 'effectivePeriod'].some((element) => has(resource, element)),
    },
    exactToTheDay,
    {
      element: 'component.value[x]',
      holds: ({ component }) => objectsOf(component).every(hasValue),
      fill: ({ component }) => ({
        component: objectsOf(component).map((part) =>
          hasValue(part) ? part : { ...part, dataAbsentReason: unknownConcept() },
        ),
      }),
    },
  ],
  'blood-pressure': {
    element: 'component',
    holds: ({ component }) =>
      ['8480-6', '8462-4'].every(
        (code) =>
          objectsOf(component).filter(
            (part) => hasCode(part.code, LOINC, [code]) && isIn(part.valueQuantity, PRESSURE),
          ).length === 1,
      ),
  },
  oxygen: {
    element: 'component.valueQuantity',
    holds: ({ component }) =>
      objectsOf(component).every(({ code, valueQuantity }) =>
        codingsOf(code).every((coding) => {
          const units = OXYGEN[textOf(coding.code) ?? ''];
          return units === undefined || isIn(valueQuantity, units);
        }),
      ),
  },
  'social-history': { element: 'category', holds: ({ category }) => isOf(category, 'social-history') },
  final: {
    element: 'status',
    holds: ({ status }) => status === 'final' || status === 'entered-in-error',
  },
  // Our own number of the person.
  'our-number': orUnknown('identifier', ({ id }) => ({
    identifier: [{ system: 'urn:medical-exchange:patient', value: id }],
  })),
  named: {
    element: 'name.family, given',
    holds: ({ name }) => objectsOf(name).every(isNamed),
    fill: ({ name }) => ({
      name: objectsOf(name).map((each) => (isNamed(each) ? each : { ...each, ...unknown() })),
    }),
  },
  // Race and ethnicity, if they are stated, have their text.
  'race-in-words': {
    element: 'extension',
    holds: ({ extension }) =>
      objectsOf(extension)
        .filter(({ url }) => OMB.includes(String(url)))
        .every((each) =>
          objectsOf(each.extension).some(
            ({ url, valueString }) => url === 'text' && valueString !== undefined,
          ),
        ),
  },
  'sex-coding': sexIn('8.0.0', 'valueCoding'),
  'sex-code': sexIn('6.1.0', 'valueCode'),
  'complete-type': {
    element: 'type',
    version: '8.0.0',
    holds: ({ type }) =>
      objectsOf(type).every(
        (each) =>
          codingsOf(each).length > 0 &&
          codingsOf(each).every((coding) => has(coding, 'system') && has(coding, 'code')),
      ),
  },
  // org-1 of FHIR itself
  'name-or-number': {
    element: 'name',
    holds: ({ name, identifier }) => name !== undefined || objectsOf(identifier).length > 0,
  },
  // Numbers of the known systems have the form of their system (us-core-16 to us-core-19).
  'well-formed-numbers': {
    element: 'identifier',
    holds: ({ identifier }) =>
      objectsOf(identifier).every(({ system, value }) => {
        const text = typeof value === 'string' ? value : '';
        if (system === SYSTEMS.npi) return isNpi(text);
        if (system === SYSTEMS.clia) return /^\d{2}D\d{7}$/.test(text);
        return system !== SYSTEMS.naic || /^\d{5}$/.test(text);
      }),
  },
  'family-name': orUnknown('name', () => ({ name: [{ _family: unknown() }] })),
  number: orUnknown('identifier', () => ({ identifier: [{ _system: unknown(), _value: unknown() }] })),
  // pd-1
  reachable: {
    element: 'telecom',
    holds: (resource) => has(resource, 'telecom') || has(resource, 'endpoint'),
  },
  practitioner: {
    element: 'practitioner',
    holds: (resource) =>
      ['practitioner', 'organization', 'healthcareService', 'location'].some((element) =>
        has(resource, element),
      ),
    fill: () => ({ practitioner: unknown() }),
  },
  'agents-found': {
    element: 'agent.who',
    holds: ({ agent, contained }) => objectsOf(agent).every((each) => isResolved(each, objectsOf(contained))),
  },
  relationship: {
    element: 'relationship',
    holds: (resource) => has(resource, 'name') || has(resource, 'relationship'),
    fill: () => ({ relationship: [unknownConcept()] }),
  },
};

/** Whether an observation has one of the categories. */
export const isOf = (category: unknown, ...codes: string[]): boolean =>
  hasCode(category, 'http://terminology.hl7.org/CodeSystem/observation-category', codes);

/** A quantity, if there is one, in one of these units of UCUM. */
export const isIn = (quantity: unknown, units: readonly string[]): boolean =>
  objectsOf(quantity).every(
    ({ value, unit, system, code }) =>
      value !== undefined && unit !== undefined && system === UCUM && units.includes(textOf(code) ?? ''),
  );

/** Ten digits with the check digit of Luhn, after the prefix 80840 that stands for 24. */
function isNpi(text: string): boolean {
  if (!/^\d{10}$/.test(text)) return false;
  const sum = [...text].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 24);
  return sum % 10 === 0;
}

/** An agent that can be found; a practitioner or device acts on behalf of an organization (provenance-1). */
function isResolved(agent: Json, contained: readonly Json[]): boolean {
  const [who] = objectsOf(agent.who);
  const reference = typeof who?.reference === 'string' ? who.reference : '';
  const inside = contained.find(({ id }) => reference === `#${String(id)}`);
  const target = inside === undefined ? /^([A-Za-z]+)\//.exec(reference)?.[1] : String(inside.resourceType);
  if (target === 'Practitioner' || target === 'Device') return has(agent, 'onBehalfOf');
  return ['Organization', 'Patient', 'PractitionerRole', 'RelatedPerson'].includes(target ?? '');
}
