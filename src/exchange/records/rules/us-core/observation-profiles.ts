import { type Json, objectsOf, textOf } from '../json.ts';
import {
  codingsOf,
  has,
  hasCode,
  LOINC,
  orUnknown,
  type Profile,
  type Requirement,
  requiredAll,
  UCUM,
  unknown,
  unknownConcept,
} from './profile.ts';

const CATEGORIES = 'http://terminology.hl7.org/CodeSystem/observation-category';
const type = 'Observation';

const ofCategory =
  (...codes: string[]) =>
  ({ category }: Json): boolean =>
    hasCode(category, CATEGORIES, codes);

const BASICS = requiredAll('status', 'code', 'subject', 'category');

/** A result says its value or why there is none, unless it consists of others (us-core-2, vs-2). */
const RESULT: Requirement = {
  element: 'value[x]',
  holds: (resource) =>
    ['value[x]', 'dataAbsentReason', 'component', 'hasMember'].some((element) => has(resource, element)),
  fill: () => ({ dataAbsentReason: unknownConcept() }),
};

/** A time that is at least a day (us-core-1, vs-1). */
const exactToTheDay: Requirement = {
  element: 'effectiveDateTime',
  holds: ({ effectiveDateTime }) => effectiveDateTime === undefined || isDay(effectiveDateTime),
};
const isDay = (time: unknown): boolean => (textOf(time)?.length ?? 0) >= 'YYYY-MM-DD'.length;

/** us-core-3 */
const inUcum: Requirement = {
  element: 'valueQuantity.system',
  holds: ({ valueQuantity }) =>
    objectsOf(valueQuantity).every(({ system }) => system === undefined || system === UCUM),
};

const CLINICAL = [...BASICS, RESULT, exactToTheDay, inUcum];

const VITAL_SIGN: readonly Requirement[] = [
  ...BASICS,
  RESULT,
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
    holds: ({ component }) =>
      objectsOf(component).every((part) => has(part, 'value[x]') || has(part, 'dataAbsentReason')),
    fill: ({ component }) => ({
      component: objectsOf(component).map((part) =>
        has(part, 'value[x]') || has(part, 'dataAbsentReason')
          ? part
          : { ...part, dataAbsentReason: unknownConcept() },
      ),
    }),
  },
];

/** A quantity, if there is one, in one of these units of UCUM. */
const isIn = (quantity: unknown, units: readonly string[]): boolean =>
  objectsOf(quantity).every(
    ({ value, unit, system, code }) =>
      value !== undefined && unit !== undefined && system === UCUM && units.includes(textOf(code) ?? ''),
  );

const isVitalSign = ofCategory('vital-signs');

/** The profile of one kind of vital sign, by all of its codes, with the units that it allows. */
const vitalSign = (name: string, codes: readonly string[], units: readonly string[]): Profile => ({
  name,
  type,
  isFor: (resource) => isVitalSign(resource) && codes.every((code) => hasCode(resource.code, LOINC, [code])),
  requires: [
    ...VITAL_SIGN,
    { element: 'valueQuantity', holds: ({ valueQuantity }) => isIn(valueQuantity, units) },
  ],
});

const LENGTH = ['cm', '[in_i]'];
const PRESSURE = ['mm[Hg]'];

/** Oxygen flow and concentration, which pulse oximetry may have as components. */
const OXYGEN: Readonly<Record<string, readonly string[]>> = { '3151-8': ['L/min'], '3150-0': ['%'] };

const pressure = (component: unknown, code: string): boolean =>
  objectsOf(component).filter(
    (part) => hasCode(part.code, LOINC, [code]) && isIn(part.valueQuantity, PRESSURE),
  ).length === 1;

const bloodPressure: Profile = {
  ...vitalSign('us-core-blood-pressure', ['85354-9'], PRESSURE),
  requires: [
    ...VITAL_SIGN,
    {
      element: 'component',
      holds: ({ component }) => pressure(component, '8480-6') && pressure(component, '8462-4'),
    },
  ],
};

const pulseOximetry = vitalSign('us-core-pulse-oximetry', ['59408-5', '2708-6'], ['%']);

/** Observations that a profile knows by one LOINC code. */
const coded = (name: string, code: string, ...requires: Requirement[]): Profile => ({
  name,
  type,
  isFor: (resource) => hasCode(resource.code, LOINC, [code]),
  requires: [...requiredAll('status', 'code', 'subject'), ...requires],
});

const SOCIAL = coded('us-core-observation-occupation', '11341-5').requires;
const withTime = requiredAll('effectiveDateTime', 'valueCodeableConcept');
const isSmoking = ({ code }: Json): boolean => hasCode(code, LOINC, ['72166-2']);
const isSpecific = (resource: Json): boolean =>
  OTHER.some(({ isFor }) => isFor?.(resource) === true) ||
  ofCategory(
    'laboratory',
    'vital-signs',
    'survey',
    'exam',
    'therapy',
    'imaging',
    'procedure',
    'activity',
  )(resource);

const OTHER: readonly Profile[] = [
  {
    name: 'us-core-smokingstatus',
    type,
    isFor: isSmoking,
    requires: [
      ...BASICS,
      ...requiredAll('effectiveDateTime', 'valueCodeableConcept'),
      { element: 'category', holds: ofCategory('social-history') },
      { element: 'status', holds: ({ status }) => status === 'final' || status === 'entered-in-error' },
    ],
  },
  {
    ...coded('us-core-observation-occupation', '11341-5'),
    requires: [...SOCIAL, ...requiredAll('valueCodeableConcept')],
  },
  coded('us-core-observation-pregnancyintent', '86645-9', ...withTime),
  coded('us-core-observation-pregnancystatus', '82810-3', ...withTime),
  coded('us-core-observation-sexual-orientation', '76690-7'),
];

export const OBSERVATION_PROFILES: readonly Profile[] = [
  { name: 'us-core-observation-lab', type, isFor: ofCategory('laboratory'), requires: CLINICAL },
  {
    name: 'us-core-observation-clinical-result',
    type,
    isFor: (resource) =>
      ofCategory('exam', 'therapy', 'imaging', 'procedure', 'activity')(resource) &&
      !ofCategory('laboratory', 'vital-signs', 'survey')(resource),
    requires: CLINICAL,
  },
  { name: 'us-core-observation-screening-assessment', type, isFor: ofCategory('survey'), requires: CLINICAL },
  { name: 'us-core-vital-signs', type, isFor: isVitalSign, requires: VITAL_SIGN },
  bloodPressure,
  {
    ...pulseOximetry,
    requires: [
      ...pulseOximetry.requires,
      {
        element: 'component.valueQuantity',
        holds: ({ component }) =>
          objectsOf(component).every(({ code, valueQuantity }) =>
            codingsOf(code).every((coding) => {
              const units = OXYGEN[textOf(coding.code) ?? ''];
              return units === undefined || isIn(valueQuantity, units);
            }),
          ),
      },
    ],
  },
  vitalSign('us-core-bmi', ['39156-5'], ['kg/m2']),
  vitalSign('us-core-body-height', ['8302-2'], LENGTH),
  vitalSign('us-core-body-weight', ['29463-7'], ['g', 'kg', '[lb_av]']),
  vitalSign('us-core-body-temperature', ['8310-5'], ['Cel', '[degF]']),
  vitalSign('us-core-heart-rate', ['8867-4'], ['/min']),
  vitalSign('us-core-respiratory-rate', ['9279-1'], ['/min']),
  vitalSign('us-core-head-circumference', ['9843-4'], LENGTH),
  vitalSign('head-occipital-frontal-circumference-percentile', ['8289-1'], ['%']),
  vitalSign('pediatric-bmi-for-age', ['59576-9'], ['%']),
  vitalSign('pediatric-weight-for-height', ['77606-2'], ['%']),
  ...OTHER,
  {
    name: 'us-core-simple-observation',
    type,
    isFor: (resource) => has(resource, 'category') && !isSpecific(resource),
    requires: BASICS,
  },
];
