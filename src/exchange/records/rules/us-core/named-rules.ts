import { isNpi } from '../../../../contract/primitives.ts';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { isJson, type Json, objectsOf, textOf } from '../json.ts';

/**
 * The versions of US Core whose profiles a resource may claim: today's, and the
 * one that products are certified for.
 */
export const US_CORE_VERSIONS = ['8.0.0', '6.1.0'] as const;
export type UsCoreVersion = (typeof US_CORE_VERSIONS)[number];

/** What a profile demands beyond FHIR R4. */
export interface Requirement {
  /** The element, as FHIR names it. */
  element: string;
  holds: (resource: Json) => boolean;
  /**
   * States in the profile's way that the source left the element out. Without
   * it, the resource cannot claim the profile.
   */
  fill?: (resource: Json) => Json;
  /** Only this version demands it. */
  version?: UsCoreVersion;
  /**
   * The other version demands another form, so that this is no defect of the
   * source.
   */
  isOfVersion?: true;
}

export interface Profile {
  /** The last part of its address: `us-core-patient`. */
  name: string;
  type: string;
  /** Whether the profile is meant for the resource; always if absent. */
  isFor?: (resource: Json) => boolean;
  requires: readonly Requirement[];
}

/** Whether an element has content. With `[x]`, one of any type: `value[x]`. */
export function has(resource: Json, element: string): boolean {
  if (!element.endsWith('[x]'))
    return isSaid(resource[element]) || isSaid(resource[`_${element}`]);
  const name = element.slice(0, -3);
  const typed = new RegExp(`^_?${name}[A-Z]`);
  return Object.keys(resource).some(
    (key) => typed.test(key) && isSaid(resource[key]),
  );
}

const isSaid = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  !(Array.isArray(value) && value.length === 0);

const codingsOf = (concept: unknown): Json[] =>
  objectsOf(concept).flatMap(({ coding }) => objectsOf(coding));

/** Whether a concept, or one of several, has one of the codes in the system. */
export const hasCode = (
  concept: unknown,
  system: string,
  codes: readonly string[],
): boolean =>
  objectsOf(concept).some(({ coding }) =>
    objectsOf(coding).some(
      (each) =>
        each.system === system && codes.includes(textOf(each.code) ?? ''),
    ),
  );

export const LOINC = 'http://loinc.org';
const UCUM = 'http://unitsofmeasure.org';

/**
 * @param elements one, or several divided by `|` of which one must be there;
 *   the first names the requirement
 */
function required(elements: string): Requirement {
  const names = elements.split('|');
  return {
    element: names[0] ?? '',
    holds: (resource) => names.some((name) => has(resource, name)),
  };
}
/**
 * Elements without which the resource cannot claim a profile, because nothing
 * could be said in their place.
 */
export const requiredAll = (...elements: string[]): Requirement[] =>
  elements.map(required);

/**
 * An element that a profile requires and for which it accepts the statement
 * that it is unknown.
 */
export const orUnknown = (
  element: string,
  fill: (resource: Json) => Json,
): Requirement => ({
  ...required(element),
  fill,
});

const DATA_ABSENT = 'data-absent-reason';
/** An element in whose place is said that its value is unknown. */
export const unknown = (): Json => ({
  extension: [
    {
      url: `http://hl7.org/fhir/StructureDefinition/${DATA_ABSENT}`,
      valueCode: 'unknown',
    },
  ],
});

export const unknownConcept = (): Json => ({
  coding: [
    {
      system: `http://terminology.hl7.org/CodeSystem/${DATA_ABSENT}`,
      code: 'unknown',
      display: 'Unknown',
    },
  ],
});

/**
 * A list in whose items the members are filled where they are missing.
 * Primitives are filled in `_<member>`.
 */
export function withMembers(
  list: unknown,
  members: Readonly<Record<string, () => unknown>>,
): unknown[] {
  return (Array.isArray(list) ? (list as unknown[]) : [list]).map((item) => {
    if (!isJson(item)) return item;
    const missing = Object.entries(members).filter(
      ([name]) => !has(item, name.replace(/^_/, '')),
    );
    return {
      ...item,
      ...Object.fromEntries(missing.map(([name, make]) => [name, make()])),
    };
  });
}

/**
 * Requires members of every item of a list, which may be empty: `identifier`
 * with `system` and `value`.
 */
export function inEach(
  element: string,
  members: Readonly<Record<string, () => unknown>>,
): Requirement {
  const names = Object.keys(members).map((name) => name.replace(/^_/, ''));
  return {
    element: `${element}.${names.join(', ')}`,
    holds: (resource) =>
      objectsOf(resource[element]).every((item) =>
        names.every((name) => has(item, name)),
      ),
    fill: (resource) => ({
      [element]: withMembers(resource[element], members),
    }),
  };
}

/**
 * The rules of US Core that are more than "this element is there", by the names
 * that `profiles.json` gives them.
 */

const NULL_FLAVOR = 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor';
const SYSTEMS = {
  npi: 'http://hl7.org/fhir/sid/us-npi',
  clia: 'urn:oid:2.16.840.1.113883.4.7',
  naic: 'urn:oid:2.16.840.1.113883.6.300',
};
/** Intents of a prescription that has somebody who ordered it (us-core-21). */
const ORDERED = [
  'order',
  'original-order',
  'reflex-order',
  'filler-order',
  'instance-order',
];
const SEX = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-sex';
const OMB = ['race', 'ethnicity'].map(
  (name) => `http://hl7.org/fhir/us/core/StructureDefinition/us-core-${name}`,
);
const PRESSURE = ['mm[Hg]'];
/**
 * Oxygen flow and concentration, which pulse oximetry may have as components.
 */
const OXYGEN: Readonly<Record<string, readonly string[]>> = lookupTable({
  '3151-8': ['L/min'],
  '3150-0': ['%'],
});

const hasContent = (part: unknown): boolean =>
  isJson(part) && (has(part, 'url') || has(part, 'data'));
const isNamed = (name: Json): boolean =>
  has(name, 'family') || has(name, 'given');
const hasValue = (part: Json): boolean =>
  has(part, 'value[x]') || has(part, 'dataAbsentReason');

/**
 * The extension for the sex has another type in each version, and the same
 * address.
 */
const sexIn = (
  version: Requirement['version'],
  type: 'valueCode' | 'valueCoding',
): Requirement => ({
  element: 'extension',
  version,
  isOfVersion: true,
  holds: ({ extension }) =>
    objectsOf(extension).every(
      (each) => each.url !== SEX || each[type] !== undefined,
    ),
});

/**
 * A result says its value or why there is none, unless it consists of others
 * (us-core-2, vs-2).
 */
const result: Requirement = {
  element: 'value[x]',
  holds: (resource) =>
    hasValue(resource) ||
    has(resource, 'component') ||
    has(resource, 'hasMember'),
  fill: () => ({ dataAbsentReason: unknownConcept() }),
};

/** A time that is at least a day (us-core-1, vs-1). */
const exactToTheDay: Requirement = {
  element: 'effectiveDateTime',
  holds: ({ effectiveDateTime }) =>
    effectiveDateTime === undefined ||
    (textOf(effectiveDateTime)?.length ?? 0) >= 'YYYY-MM-DD'.length,
};

const basics = [
  ...requiredAll('status', 'code', 'subject', 'category'),
  result,
];

export const NAMED_RULES: Readonly<
  Record<string, Requirement | readonly Requirement[]>
> = {
  narrative: {
    element: 'text',
    holds: ({ text }) =>
      isJson(text) &&
      has(text, 'div') &&
      ['generated', 'additional'].includes(textOf(text.status) ?? ''),
  },
  'assess-plan': {
    element: 'category',
    version: '6.1.0',
    holds: ({ category }) =>
      hasCode(
        category,
        'http://hl7.org/fhir/us/core/CodeSystem/careplan-category',
        ['assess-plan'],
      ),
  },
  members: inEach('participant', {
    role: () => [unknownConcept()],
    member: unknown,
  }),
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
    type: {
      coding: [{ system: NULL_FLAVOR, code: 'UNK', display: 'unknown' }],
    },
  })),
  'loinc-type': {
    element: 'type',
    holds: ({ type }) =>
      hasCode(type, NULL_FLAVOR, ['UNK']) ||
      codingsOf(type).some(({ system }) => system === LOINC),
  },
  'content-address': {
    element: 'content.attachment.url, data',
    holds: ({ content }) =>
      objectsOf(content).every(({ attachment }) => hasContent(attachment)),
    fill: ({ content }) => ({
      content: objectsOf(content).map((each) => ({
        ...each,
        attachment: hasContent(each.attachment)
          ? each.attachment
          : {
              ...(isJson(each.attachment) ? each.attachment : {}),
              _url: unknown(),
            },
      })),
    }),
  },
  requester: {
    element: 'requester',
    holds: (resource) =>
      !ORDERED.includes(textOf(resource.intent) ?? '') ||
      has(resource, 'requester'),
    fill: () => ({ requester: unknown() }),
  },
  clinical: [
    ...basics,
    exactToTheDay,
    // us-core-3
    {
      element: 'valueQuantity.system',
      holds: ({ valueQuantity }) =>
        objectsOf(valueQuantity).every(
          ({ system }) => system === undefined || system === UCUM,
        ),
    },
  ],
  'vital-sign': [
    ...basics,
    orUnknown('effective[x]', () => ({ _effectiveDateTime: unknown() })),
    // vs-1 allows a period in words, but its expression, which validators
    // evaluate, holds for no period.
    {
      element: 'effective[x]',
      holds: (resource) =>
        !['effectiveTiming', 'effectiveInstant', 'effectivePeriod'].some(
          (element) => has(resource, element),
        ),
    },
    exactToTheDay,
    {
      element: 'component.value[x]',
      holds: ({ component }) => objectsOf(component).every(hasValue),
      fill: ({ component }) => ({
        component: objectsOf(component).map((part) =>
          hasValue(part)
            ? part
            : { ...part, dataAbsentReason: unknownConcept() },
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
            (part) =>
              hasCode(part.code, LOINC, [code]) &&
              isIn(part.valueQuantity, PRESSURE),
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
  'social-history': {
    element: 'category',
    holds: ({ category }) => isOf(category, 'social-history'),
  },
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
      name: objectsOf(name).map((each) =>
        isNamed(each) ? each : { ...each, ...unknown() },
      ),
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
            ({ url, valueString }) =>
              url === 'text' && valueString !== undefined,
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
          codingsOf(each).every(
            (coding) => has(coding, 'system') && has(coding, 'code'),
          ),
      ),
  },
  // org-1 of FHIR itself
  'name-or-number': {
    element: 'name',
    holds: ({ name, identifier }) =>
      name !== undefined || objectsOf(identifier).length > 0,
  },
  // Numbers of the known systems have the form of their system (us-core-16 to
  // us-core-19).
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
  number: orUnknown('identifier', () => ({
    identifier: [{ _system: unknown(), _value: unknown() }],
  })),
  'agents-found': {
    element: 'agent.who',
    holds: ({ agent, contained }) =>
      objectsOf(agent).every((each) => isResolved(each, objectsOf(contained))),
  },
};

/** Whether an observation has one of the categories. */
export const isOf = (category: unknown, ...codes: string[]): boolean =>
  hasCode(
    category,
    'http://terminology.hl7.org/CodeSystem/observation-category',
    codes,
  );

/** A quantity, if there is one, in one of these units of UCUM. */
export const isIn = (quantity: unknown, units: readonly string[]): boolean =>
  objectsOf(quantity).every(
    ({ value, unit, system, code }) =>
      value !== undefined &&
      unit !== undefined &&
      system === UCUM &&
      units.includes(textOf(code) ?? ''),
  );

/**
 * An agent that can be found; a practitioner or device acts on behalf of an
 * organization (provenance-1).
 */
function isResolved(agent: Json, contained: readonly Json[]): boolean {
  const [who] = objectsOf(agent.who);
  const reference = typeof who?.reference === 'string' ? who.reference : '';
  const inside = contained.find(({ id }) => reference === `#${String(id)}`);
  const target =
    inside === undefined
      ? /^([A-Za-z]+)\//.exec(reference)?.[1]
      : String(inside.resourceType);
  if (target === 'Practitioner' || target === 'Device')
    return has(agent, 'onBehalfOf');
  return [
    'Organization',
    'Patient',
    'PractitionerRole',
    'RelatedPerson',
  ].includes(target ?? '');
}
