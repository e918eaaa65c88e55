import { isJson, type Json, objectsOf } from '#record-summary/fhir';
import { lookupTable } from '../../../../lib/lookup-table.ts';

/** A rule between elements of one type. */
export interface Invariant {
  /** HL7's key of the rule in R4. */
  key: string;
  says: string;
  /** @param root the resource that holds the value */
  holds(value: Json, root: Json): boolean;
}

const has = (value: Json, name: string): boolean =>
  value[name] !== undefined || value[`_${name}`] !== undefined;

/** Whether an element of several types, such as `onset[x]`, is there. */
function hasOneOf(value: Json, prefix: string): boolean {
  for (const name in value) {
    const from = name.startsWith('_') ? 1 : 0;
    const next = name.charCodeAt(from + prefix.length);
    // A capital: the type of the value follows.
    if (name.startsWith(prefix, from) && next >= 65 && next <= 90) return true;
  }
  return false;
}

const hasAny = (value: Json, ...names: string[]): boolean =>
  names.some((name) => has(value, name));

const hasBoth = (value: Json, one: string, other: string): boolean =>
  has(value, one) && has(value, other);

const needs = (key: string, one: string, other: string): Invariant => ({
  key,
  says: `needs ${other} beside ${one}`,
  holds: (value) => !has(value, one) || has(value, other),
});

const needsAny = (key: string, ...names: string[]): Invariant => ({
  key,
  says: `needs ${names.join(' or ')}`,
  holds: (value) => hasAny(value, ...names),
});

const notBoth = (key: string, one: string, other: string): Invariant => ({
  key,
  says: `may not have both ${one} and ${other}`,
  holds: (value) => !hasBoth(value, one, other),
});

const hasCode = (concept: unknown, ...codes: string[]): boolean =>
  objectsOf(concept).some(({ coding }) =>
    objectsOf(coding).some(({ code }) => codes.includes(String(code))),
  );

const DAY_MS = 24 * 60 * 60_000;

/**
 * Two times of which one is less precise are in order unless the part that both
 * say contradicts; a day has another beginning in each zone.
 */
function isInOrder(first: string, second: string): boolean {
  const length = Math.min(first.length, second.length);
  const laterBy = Date.parse(first) - Date.parse(second);
  if (length > 10) return !(laterBy > 0);
  return first.slice(0, length) <= second.slice(0, length) || laterBy <= DAY_MS;
}

const inOrder = (key: string, one: string, other: string): Invariant => ({
  key,
  says: `has ${other} before ${one}`,
  holds: (value) =>
    value[one] === undefined ||
    value[other] === undefined ||
    isInOrder(String(value[one]), String(value[other])),
});

const UNIT_WITH_SYSTEM = needs('qty-3', 'code', 'system');

const isNotNegative = (value: unknown): boolean =>
  typeof value !== 'number' || value >= 0;

const isHome = (parts: unknown): boolean =>
  objectsOf(parts).some(({ use }) => use === 'home');

const numberOf = (quantity: unknown): number =>
  isJson(quantity) && typeof quantity.value === 'number'
    ? quantity.value
    : Number.NaN;

/**
 * The rules of R4 that make a resource an error, for our types and what they
 * are made of; without those of Narrative, which narrative.ts has.
 */
export const INVARIANTS: Readonly<Record<string, readonly Invariant[]>> =
  lookupTable({
    Age: [
      UNIT_WITH_SYSTEM,
      {
        key: 'age-1',
        says: 'must be above 0 and have a code of UCUM',
        holds: (age) =>
          (age.value === undefined ||
            (has(age, 'code') && Number(age.value) > 0)) &&
          (age.system === undefined || age.system === UCUM),
      },
    ],
    Attachment: [needs('att-1', 'data', 'contentType')],
    ContactPoint: [needs('cpt-2', 'value', 'system')],
    Count: [UNIT_WITH_SYSTEM],
    Distance: [UNIT_WITH_SYSTEM],
    Duration: [UNIT_WITH_SYSTEM],
    Period: [inOrder('per-1', 'start', 'end')],
    Quantity: [UNIT_WITH_SYSTEM],
    Range: [
      {
        key: 'rng-2',
        says: 'has a high below its low',
        holds: ({ low, high }) => !(numberOf(low) > numberOf(high)),
      },
    ],
    Ratio: [
      {
        key: 'rat-1',
        says: 'needs both numerator and denominator',
        holds: (ratio) =>
          has(ratio, 'numerator') === has(ratio, 'denominator') &&
          hasAny(ratio, 'numerator', 'extension'),
      },
    ],
    Reference: [
      {
        key: 'ref-1',
        says: 'refers to a contained resource that is not there',
        holds: ({ reference }, root) =>
          typeof reference !== 'string' ||
          !reference.startsWith('#') ||
          reference === '#' ||
          objectsOf(root.contained).some(
            ({ id }) => `#${String(id)}` === reference,
          ),
      },
    ],
    TimingRepeat: [
      needs('tim-1', 'duration', 'durationUnit'),
      needs('tim-2', 'period', 'periodUnit'),
      {
        key: 'tim-4',
        says: 'may not have a negative duration or period',
        holds: ({ duration, period }) =>
          isNotNegative(duration) && isNotNegative(period),
      },
      needs('tim-6', 'periodMax', 'period'),
      needs('tim-7', 'durationMax', 'duration'),
      needs('tim-8', 'countMax', 'count'),
      needs('tim-9', 'offset', 'when'),
      notBoth('tim-10', 'timeOfDay', 'when'),
    ],

    AllergyIntolerance: [
      {
        key: 'ait-1',
        says: 'needs a clinicalStatus, unless its verificationStatus is entered-in-error: then it may have none',
        holds: (allergy) =>
          has(allergy, 'clinicalStatus') !==
          hasCode(allergy.verificationStatus, 'entered-in-error'),
      },
    ],
    Appointment: [
      {
        key: 'app-2',
        says: 'needs both start and end, unless it is proposed, cancelled or on a waitlist: then both or neither',
        holds: (appointment) =>
          has(appointment, 'start') === has(appointment, 'end') &&
          (has(appointment, 'start') ||
            ['proposed', 'cancelled', 'waitlist'].includes(
              String(appointment.status),
            )),
      },
      {
        key: 'app-4',
        says: 'may have a cancelationReason only when it is cancelled or noshow',
        holds: (appointment) =>
          !has(appointment, 'cancelationReason') ||
          ['cancelled', 'noshow'].includes(String(appointment.status)),
      },
    ],
    AppointmentParticipant: [needsAny('app-1', 'type', 'actor')],
    CarePlanActivity: [notBoth('cpl-3', 'detail', 'reference')],
    CompositionSection: [
      needsAny('cmp-1', 'text', 'entry', 'section'),
      notBoth('cmp-2', 'emptyReason', 'entry'),
    ],
    Condition: [
      {
        key: 'con-4',
        says: 'has an abatement, so its clinicalStatus must be inactive, remission or resolved',
        holds: (condition) =>
          !hasOneOf(condition, 'abatement') ||
          hasCode(
            condition.clinicalStatus,
            'inactive',
            'remission',
            'resolved',
          ),
      },
      {
        key: 'con-5',
        says: 'may have no clinicalStatus when its verificationStatus is entered-in-error',
        holds: (condition) =>
          !has(condition, 'clinicalStatus') ||
          !hasCode(condition.verificationStatus, 'entered-in-error'),
      },
    ],
    ConditionStage: [needsAny('con-1', 'summary', 'assessment')],
    ConditionEvidence: [needsAny('con-2', 'code', 'detail')],
    Consent: [needsAny('ppc-1', 'policy', 'policyRule')],
    FamilyMemberHistory: [
      {
        key: 'fhs-1',
        says: 'may not have both age and born',
        holds: (history) =>
          !hasOneOf(history, 'age') || !hasOneOf(history, 'born'),
      },
      {
        key: 'fhs-2',
        says: 'may have estimatedAge only beside age',
        holds: (history) =>
          !has(history, 'estimatedAge') || hasOneOf(history, 'age'),
      },
    ],
    GoalTarget: [
      {
        key: 'gol-1',
        says: 'needs measure beside detail',
        holds: (target) =>
          !hasOneOf(target, 'detail') || has(target, 'measure'),
      },
    ],
    ImmunizationEducation: [needsAny('imm-1', 'documentType', 'reference')],
    ImmunizationRecommendationRecommendation: [
      needsAny('imr-1', 'vaccineCode', 'targetDisease'),
    ],
    List: [
      notBoth('lst-1', 'emptyReason', 'entry'),
      {
        key: 'lst-2',
        says: 'may have deleted entries only in the mode changes',
        holds: ({ mode, entry }) =>
          mode === 'changes' ||
          objectsOf(entry).every((each) => !has(each, 'deleted')),
      },
      {
        key: 'lst-3',
        says: 'may have dates of entries only in the mode working',
        holds: ({ mode, entry }) =>
          mode === 'working' ||
          objectsOf(entry).every((each) => !has(each, 'date')),
      },
    ],
    MedicationAdministrationDosage: [
      {
        key: 'mad-1',
        says: 'needs dose or rate',
        holds: (dosage) => has(dosage, 'dose') || hasOneOf(dosage, 'rate'),
      },
    ],
    MedicationDispense: [inOrder('mdd-1', 'whenPrepared', 'whenHandedOver')],
    Observation: [
      {
        key: 'obs-6',
        says: 'may not have both a value and a dataAbsentReason',
        holds: (observation) =>
          !has(observation, 'dataAbsentReason') ||
          !hasOneOf(observation, 'value'),
      },
    ],
    ObservationReferenceRange: [needsAny('obs-3', 'low', 'high', 'text')],
    Organization: [
      needsAny('org-1', 'identifier', 'name'),
      {
        key: 'org-2',
        says: 'may not have an address or telecom of the use home',
        holds: ({ address, telecom }) => !isHome(address) && !isHome(telecom),
      },
    ],
    PatientContact: [
      needsAny('pat-1', 'name', 'telecom', 'address', 'organization'),
    ],
    QuestionnaireResponseItem: [notBoth('qrs-1', 'answer', 'item')],
    RiskAssessmentPrediction: [
      {
        key: 'ras-2',
        says: 'may not have a probability above 100',
        holds: ({ probabilityDecimal }) => !(Number(probabilityDecimal) > 100),
      },
    ],
    ServiceRequest: [needs('prr-1', 'orderDetail', 'code')],
  });

const UCUM = 'http://unitsofmeasure.org';
