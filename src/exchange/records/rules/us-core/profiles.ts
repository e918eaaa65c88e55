import { type Json, textOf } from '../json.ts';
import { isIn, isOf, NAMED_RULES } from './named-rules.ts';
import {
  has,
  hasCode,
  inEach,
  LOINC,
  orUnknown,
  type Profile,
  type Requirement,
  requiredAll,
  unknown,
  unknownConcept,
} from './profile.ts';
import table from './profiles.json' with { type: 'json' };

/** A row of `profiles.json`: the profile is for resources that `for` names and that have all of `codes` (LOINC). */
interface Row {
  name: string;
  type: string;
  for?: string;
  codes?: string[];
  /** Units of UCUM that a value may have. */
  units?: string[];
  /**
   * Separated by blanks. `status`: it must be there. `code=concept`, `type=concepts` or `issued=_issued`: it must be there, or
   * is stated as unknown in this form; with `:completed,in-progress` in these states only. `identifier/_system,_value`: each
   * item has these members. `@units`: a value has one of `units`. `@name`: a rule of `named-rules.ts`.
   */
  requires: string;
}

const CONDITION_CATEGORIES = 'http://terminology.hl7.org/CodeSystem/condition-category';
const US_CONDITION_CATEGORIES = 'http://hl7.org/fhir/us/core/CodeSystem/condition-category';

const isLaboratoryReport = ({ category }: Json): boolean =>
  hasCode(category, 'http://terminology.hl7.org/CodeSystem/v2-0074', ['LAB']);
const CLINICAL_RESULTS = ['exam', 'therapy', 'imaging', 'procedure', 'activity'];
const OTHER_RESULTS = ['laboratory', 'vital-signs', 'survey'];

/** What a profile is for, by the names that the table uses. */
const PURPOSES: Readonly<Record<string, (resource: Json) => boolean>> = {
  problem: ({ category }) =>
    hasCode(category, CONDITION_CATEGORIES, ['problem-list-item']) ||
    hasCode(category, US_CONDITION_CATEGORIES, ['health-concern']),
  'encounter-diagnosis': ({ category }) => hasCode(category, CONDITION_CATEGORIES, ['encounter-diagnosis']),
  'laboratory-report': isLaboratoryReport,
  'other-report': (resource) => !isLaboratoryReport(resource),
  'implantable-device': (resource) => has(resource, 'udiCarrier'),
  laboratory: ({ category }) => isOf(category, 'laboratory'),
  'clinical-result': ({ category }) =>
    isOf(category, ...CLINICAL_RESULTS) && !isOf(category, ...OTHER_RESULTS),
  survey: ({ category }) => isOf(category, 'survey'),
  'vital-sign': ({ category }) => isOf(category, 'vital-signs'),
  simple: (resource) =>
    has(resource, 'category') &&
    !isOf(resource.category, ...CLINICAL_RESULTS, ...OTHER_RESULTS) &&
    !hasCode(resource.code, LOINC, SOCIAL_CODES),
};

const ROWS: readonly Row[] = table.profiles;
/** Observations that a profile knows by one code, whatever their category. */
const SOCIAL_CODES = ROWS.flatMap(({ for: purpose, codes }) => (purpose === undefined ? (codes ?? []) : []));

export const ALL_PROFILES: readonly Profile[] = ROWS.map(
  ({ name, type, for: purpose, codes = [], units = [], requires }) => ({
    name,
    type,
    isFor: (resource) =>
      (purpose === undefined || PURPOSES[purpose]?.(resource) === true) &&
      codes.every((code) => hasCode(resource.code, LOINC, [code])),
    requires: requires.split(' ').flatMap((word) => requirementsOf(word, units)),
  }),
);

/** The requirements that a word of `requires` stands for. */
function requirementsOf(word: string, units: readonly string[]): readonly Requirement[] {
  if (word === '@units')
    return [{ element: 'valueQuantity', holds: ({ valueQuantity }) => isIn(valueQuantity, units) }];
  if (word.startsWith('@')) {
    const rule = NAMED_RULES[word.slice(1)];
    if (rule === undefined) throw new Error(`profiles.json names the rule ${word}, which does not exist`);
    return [rule].flat();
  }
  const [list, members] = word.split('/');
  if (list !== undefined && members !== undefined)
    return [inEach(list, Object.fromEntries(members.split(',').map((name) => [name, unknown])))];
  const [, element = word, form, states] = /^([^=]+)=(\w+)(?::(.+))?$/.exec(word) ?? [];
  if (form === undefined) return requiredAll(element);
  const requirement = orUnknown(element, () => statedAsUnknown(element, form));
  return [states === undefined ? requirement : whenStatus(states, requirement)];
}

const statedAsUnknown = (element: string, form: string): Json =>
  form === 'concept'
    ? { [element]: unknownConcept() }
    : form === 'concepts'
      ? { [element]: [unknownConcept()] }
      : { [form]: unknown() };

/** An element that is required in some states only; `reported` are those of a report that is more than registered. */
function whenStatus(states: string, requirement: Requirement): Requirement {
  const statuses = states === 'reported' ? table.reported : states.split(',');
  return {
    ...requirement,
    holds: (resource) => !statuses.includes(textOf(resource.status) ?? '') || requirement.holds(resource),
  };
}
