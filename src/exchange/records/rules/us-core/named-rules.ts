import {
  type ChoiceOf,
  type ElementOf,
  isJson,
  type Json,
  type MemberOf,
  objectsOf,
  type ReceivedResource,
  type ResourceType,
  textOf,
} from '#record-summary/fhir';
import { isNpi } from '../../../../contract/primitives.ts';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import type { RequiredElement } from './defect-words.ts';

/**
 * The versions of US Core whose profiles a resource may claim: today's, and the
 * one that products are certified for.
 */
export const US_CORE_VERSIONS = ['8.0.0', '6.1.0'] as const;
export type UsCoreVersion = (typeof US_CORE_VERSIONS)[number];

/** What a profile demands of the types beyond FHIR R4. */
export interface Requirement<T extends ResourceType = ResourceType> {
  element: RequiredElement;
  holds: (resource: ReceivedResource<T>) => boolean;
  /**
   * States in the profile's way that the source left the element out. Without
   * it, the resource cannot claim the profile.
   */
  fill?: (resource: ReceivedResource<T>) => ReceivedResource<T>;
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
  /** What it demands besides the presence of elements. */
  bounds: readonly Requirement[];
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
export const UCUM = 'http://unitsofmeasure.org';

/** An element that must be there; `value[x]`: with a value of any type. */
type Needed<T extends ResourceType> = (ElementOf<T> | ChoiceOf<T>) &
  RequiredElement;

/**
 * Elements without which the resource cannot claim a profile, because nothing
 * could be said in their place.
 */
export const requiredElements = <T extends ResourceType>(
  ...elements: readonly Needed<T>[]
): Requirement<T>[] => elements.map((element) => anyElementOf<T>(element));

/** One of some elements must be there; the first names the requirement. */
export const anyElementOf = <T extends ResourceType>(
  first: Needed<T>,
  ...others: readonly (ElementOf<T> | ChoiceOf<T>)[]
): Requirement<T> => ({
  element: first,
  holds: (resource) => [first, ...others].some((name) => has(resource, name)),
});

/**
 * A requirement for which a profile accepts the statement that the element is
 * unknown.
 */
export const orUnknown = <T extends ResourceType>(
  requirement: Requirement<T>,
  fill: (resource: ReceivedResource<T>) => ReceivedResource<T>,
): Requirement<T> => ({ ...requirement, fill });

/** A requirement on resources in some states only. */
export const whenStatus = <T extends ResourceType>(
  statuses: readonly string[],
  requirement: Requirement<T>,
): Requirement<T> => ({
  ...requirement,
  holds: (resource) => {
    const { status }: Json = resource;
    return (
      !statuses.includes(textOf(status) ?? '') || requirement.holds(resource)
    );
  },
});

const DATA_ABSENT = 'data-absent-reason';
/** An element in whose place is said that its value is unknown. */
export const unknownElement = (): Json => ({
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
export function inEach<T extends ResourceType, E extends ElementOf<T>>(
  element: E,
  members: { readonly [M in MemberOf<T, E>]?: () => unknown },
): Requirement<T> {
  const names = Object.keys(members).map((name) => name.replace(/^_/, ''));
  const filled = members as Readonly<Record<string, () => unknown>>;
  return {
    element: `${element}.${names.join(', ')}` as RequiredElement,
    holds: (resource) =>
      objectsOf(resource[element]).every((item) =>
        names.every((name) => has(item, name)),
      ),
    fill: (resource) => {
      const items = withMembers(resource[element], filled);
      return { [element]: items } as ReceivedResource<T>;
    },
  };
}

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
  version: UsCoreVersion,
  type: 'valueCode' | 'valueCoding',
): Requirement<'Patient'> => ({
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
const result: Requirement<'Observation'> = {
  element: 'value[x]',
  holds: (resource) =>
    hasValue(resource) ||
    has(resource, 'component') ||
    has(resource, 'hasMember'),
  fill: () => ({ dataAbsentReason: unknownConcept() }),
};

/** A time that is at least a day (us-core-1, vs-1). */
const exactToTheDay: Requirement<'Observation'> = {
  element: 'effectiveDateTime',
  holds: ({ effectiveDateTime }) =>
    effectiveDateTime === undefined ||
    (textOf(effectiveDateTime)?.length ?? 0) >= 'YYYY-MM-DD'.length,
};

const basics = [
  ...requiredElements<'Observation'>('status', 'code', 'subject', 'category'),
  result,
];

/** Rules of US Core that are more than "this element is there". */
export const RULES = {
  narrative: {
    element: 'text',
    holds: ({ text }) =>
      isJson(text) &&
      has(text, 'div') &&
      ['generated', 'additional'].includes(textOf(text.status) ?? ''),
  } satisfies Requirement<'CarePlan'>,
  assessPlan: {
    element: 'category',
    version: '6.1.0',
    holds: ({ category }) =>
      hasCode(
        category,
        'http://hl7.org/fhir/us/core/CodeSystem/careplan-category',
        ['assess-plan'],
      ),
  } satisfies Requirement<'CarePlan'>,
  members: inEach<'CareTeam', 'participant'>('participant', {
    role: () => [unknownConcept()],
    member: unknownElement,
  }),
  memberNumber: {
    element: 'subscriberId',
    holds: (resource) =>
      has(resource, 'subscriberId') ||
      objectsOf(resource.identifier).some(({ type }) =>
        hasCode(type, 'http://terminology.hl7.org/CodeSystem/v2-0203', ['MB']),
      ),
    fill: () => ({ _subscriberId: unknownElement() }),
  } satisfies Requirement<'Coverage'>,
  documentType: orUnknown<'DocumentReference'>(anyElementOf('type'), () => ({
    type: {
      coding: [{ system: NULL_FLAVOR, code: 'UNK', display: 'unknown' }],
    },
  })),
  loincType: {
    element: 'type',
    holds: ({ type }) =>
      hasCode(type, NULL_FLAVOR, ['UNK']) ||
      codingsOf(type).some(({ system }) => system === LOINC),
  } satisfies Requirement<'DocumentReference'>,
  contentAddress: {
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
              _url: unknownElement(),
            },
      })),
    }),
  } satisfies Requirement<'DocumentReference'>,
  requester: {
    element: 'requester',
    holds: (resource) =>
      !ORDERED.includes(textOf(resource.intent) ?? '') ||
      has(resource, 'requester'),
    fill: () => ({ requester: unknownElement() }),
  } satisfies Requirement<'MedicationRequest'>,
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
  ] satisfies Requirement<'Observation'>[],
  vitalSign: [
    ...basics,
    orUnknown(anyElementOf('effective[x]'), () => ({
      _effectiveDateTime: unknownElement(),
    })),
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
  ] satisfies Requirement<'Observation'>[],
  bloodPressure: {
    element: 'component',
    holds: ({ component }) =>
      ['8480-6', '8462-4'].every(
        (code) =>
          objectsOf(component).filter(
            (part) =>
              hasCode(part.code, LOINC, [code]) &&
              isInUnits(part.valueQuantity, PRESSURE),
          ).length === 1,
      ),
  } satisfies Requirement<'Observation'>,
  oxygen: {
    element: 'component.valueQuantity',
    holds: ({ component }) =>
      objectsOf(component).every(({ code, valueQuantity }) =>
        codingsOf(code).every((coding) => {
          const units = OXYGEN[textOf(coding.code) ?? ''];
          return units === undefined || isInUnits(valueQuantity, units);
        }),
      ),
  } satisfies Requirement<'Observation'>,
  socialHistory: {
    element: 'category',
    holds: ({ category }) => isOf(category, 'social-history'),
  } satisfies Requirement<'Observation'>,
  final: {
    element: 'status',
    holds: ({ status }) => status === 'final' || status === 'entered-in-error',
  } satisfies Requirement<'Observation'>,
  // Our own number of the person.
  ourNumber: orUnknown<'Patient'>(anyElementOf('identifier'), ({ id }) => ({
    identifier: [{ system: 'urn:medical-exchange:patient', value: id }],
  })),
  named: {
    element: 'name.family, given',
    holds: ({ name }) => objectsOf(name).every(isNamed),
    fill: ({ name }) => ({
      name: objectsOf(name).map((each) =>
        isNamed(each) ? each : { ...each, ...unknownElement() },
      ),
    }),
  } satisfies Requirement<'Patient'>,
  // Race and ethnicity, if they are stated, have their text.
  raceInWords: {
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
  } satisfies Requirement<'Patient'>,
  sexCoding: sexIn('8.0.0', 'valueCoding'),
  sexCode: sexIn('6.1.0', 'valueCode'),
  completeType: {
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
  } satisfies Requirement<'Location'>,
  // org-1 of FHIR itself
  nameOrNumber: {
    element: 'name',
    holds: ({ name, identifier }) =>
      name !== undefined || objectsOf(identifier).length > 0,
  } satisfies Requirement<'Organization'>,
  // Numbers of the known systems have the form of their system (us-core-16 to
  // us-core-19).
  wellFormedNumbers: {
    element: 'identifier',
    holds: ({ identifier }) =>
      objectsOf(identifier).every(({ system, value }) => {
        const text = typeof value === 'string' ? value : '';
        if (system === SYSTEMS.npi) return isNpi(text);
        if (system === SYSTEMS.clia) return /^\d{2}D\d{7}$/.test(text);
        return system !== SYSTEMS.naic || /^\d{5}$/.test(text);
      }),
  } satisfies Requirement<'Organization' | 'Practitioner'>,
  familyName: orUnknown<'Practitioner'>(anyElementOf('name'), () => ({
    name: [{ _family: unknownElement() }],
  })),
  number: orUnknown<'Practitioner'>(anyElementOf('identifier'), () => ({
    identifier: [{ _system: unknownElement(), _value: unknownElement() }],
  })),
  agentsFound: {
    element: 'agent.who',
    holds: ({ agent, contained }) =>
      objectsOf(agent).every((each) => isResolved(each, objectsOf(contained))),
  } satisfies Requirement<'Provenance'>,
};

/** Whether an observation has one of the categories. */
export const isOf = (category: unknown, ...codes: string[]): boolean =>
  hasCode(
    category,
    'http://terminology.hl7.org/CodeSystem/observation-category',
    codes,
  );

/** A quantity, if there is one, in one of these units of UCUM. */
export const isInUnits = (
  quantity: unknown,
  units: readonly string[],
): boolean =>
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
