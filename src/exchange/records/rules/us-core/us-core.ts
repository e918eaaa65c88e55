import type { RecordSource } from '../../../../contract/primitives.ts';
import type { RecordConformance } from '../../../../contract/record-conformance.ts';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { isJson, type Json, objectsOf, sorted, textOf } from '../json.ts';
import { r4Faults } from '../r4/check-r4.ts';
import atMostOnce from './at-most-once.json' with { type: 'json' };
import words from './defect-words.json' with { type: 'json' };
import {
  has,
  hasCode,
  inEach,
  isIn,
  isOf,
  LOINC,
  NAMED_RULES,
  orUnknown,
  type Profile,
  type Requirement,
  requiredAll,
  US_CORE_VERSIONS,
  type UsCoreVersion,
  unknown,
  unknownConcept,
} from './named-rules.ts';
import table from './profiles.json' with { type: 'json' };

/**
 * A row of `profiles.json`: the profile is for resources that `for` names and
 * that have all of `codes` (LOINC).
 */
interface Row {
  name: string;
  type: string;
  for?: string;
  codes?: string[];
  /** Units of UCUM that a value may have. */
  units?: string[];
  /**
   * Separated by blanks. `status`: it must be there; `telecom|endpoint`: one of
   * these. `code=concept`, `type=concepts` or `issued=_issued`: it must be
   * there, or is stated as unknown in this form; with `:completed,in-progress`
   * in these states only. `identifier/_system,_value`: each item has these
   * members. `@units`: a value has one of `units`. `@name`: a rule of
   * `named-rules.ts`.
   */
  requires: string;
}

const CONDITION_CATEGORIES =
  'http://terminology.hl7.org/CodeSystem/condition-category';
const US_CONDITION_CATEGORIES =
  'http://hl7.org/fhir/us/core/CodeSystem/condition-category';

const isLaboratoryReport = ({ category }: Json): boolean =>
  hasCode(category, 'http://terminology.hl7.org/CodeSystem/v2-0074', ['LAB']);
const CLINICAL_RESULTS = [
  'exam',
  'therapy',
  'imaging',
  'procedure',
  'activity',
];
const OTHER_RESULTS = ['laboratory', 'vital-signs', 'survey'];

/** What a profile is for, by the names that the table uses. */
const PURPOSES: Readonly<Record<string, (resource: Json) => boolean>> = {
  problem: ({ category }) =>
    hasCode(category, CONDITION_CATEGORIES, ['problem-list-item']) ||
    hasCode(category, US_CONDITION_CATEGORIES, ['health-concern']),
  'encounter-diagnosis': ({ category }) =>
    hasCode(category, CONDITION_CATEGORIES, ['encounter-diagnosis']),
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
const SOCIAL_CODES = ROWS.flatMap(({ for: purpose, codes }) =>
  purpose === undefined ? (codes ?? []) : [],
);

export const ALL_PROFILES: readonly Profile[] = ROWS.map(
  ({ name, type, for: purpose, codes = [], units = [], requires }) => ({
    name,
    type,
    isFor: (resource) =>
      (purpose === undefined || PURPOSES[purpose]?.(resource) === true) &&
      codes.every((code) => hasCode(resource.code, LOINC, [code])),
    requires: requires
      .split(' ')
      .flatMap((word) => requirementsOf(word, units)),
  }),
);

/** The requirements that a word of `requires` stands for. */
function requirementsOf(
  word: string,
  units: readonly string[],
): readonly Requirement[] {
  if (word === '@units')
    return [
      {
        element: 'valueQuantity',
        holds: ({ valueQuantity }) => isIn(valueQuantity, units),
      },
    ];
  if (word.startsWith('@')) {
    const rule = NAMED_RULES[word.slice(1)];
    if (rule === undefined)
      throw new Error(
        `profiles.json names the rule ${word}, which does not exist`,
      );
    return [rule].flat();
  }
  const [list, members] = word.split('/');
  if (list !== undefined && members !== undefined)
    return [
      inEach(
        list,
        Object.fromEntries(members.split(',').map((name) => [name, unknown])),
      ),
    ];
  const [, element = word, form, states] =
    /^([^=]+)=(\w+)(?::(.+))?$/.exec(word) ?? [];
  if (form === undefined) return requiredAll(element);
  const requirement = orUnknown(element, () =>
    statedAsUnknown(element.split('|')[0] ?? '', form),
  );
  return [states === undefined ? requirement : whenStatus(states, requirement)];
}

const statedAsUnknown = (element: string, form: string): Json =>
  form === 'concept'
    ? { [element]: unknownConcept() }
    : form === 'concepts'
      ? { [element]: [unknownConcept()] }
      : { [form]: unknown() };

/**
 * An element that is required in some states only; `reported` are those of a
 * report that is more than registered.
 */
function whenStatus(states: string, requirement: Requirement): Requirement {
  const statuses = states === 'reported' ? table.reported : states.split(',');
  return {
    ...requirement,
    holds: (resource) =>
      !statuses.includes(textOf(resource.status) ?? '') ||
      requirement.holds(resource),
  };
}

/**
 * How often the profiles of both versions allow an element at most: `element`,
 * `list.element` for each item of a list, or `element=system|code` for the
 * items that have this code. An element that they require in each item of a
 * list has `1..`.
 */
const AT_MOST_ONCE: Readonly<Record<string, readonly string[]>> =
  lookupTable(atMostOnce);

const isOnce = (rule: string) => {
  const [path = '', code] = rule.split('=');
  const [list = '', member] = path.split('.');
  const [system = '', wanted = ''] = code?.split('|') ?? [];
  return (resource: Json): boolean => {
    const items = objectsOf(resource[list]);
    if (code === undefined && member !== undefined)
      return items.every(
        (item) => !Array.isArray(item[member]) || item[member].length <= 1,
      );
    const counted =
      code === undefined
        ? items
        : items.filter((item) =>
            hasCode(member === undefined ? item : item[member], system, [
              wanted,
            ]),
          );
    return counted.length <= 1;
  };
};

const rules = (name: string): Requirement[] =>
  (AT_MOST_ONCE[name] ?? []).map((rule) => ({
    element: rule.split('=')[0] ?? '',
    holds: isOnce(rule),
  }));

const UCUM = 'http://unitsofmeasure.org';
const LOW_AND_HIGH = ['low', 'high'];

/** What profiles demand besides the presence of elements, by profile. */
export const BOUNDS: Readonly<Record<string, readonly Requirement[]>> = {
  ...Object.fromEntries(
    Object.keys(AT_MOST_ONCE).map((name) => [name, rules(name)]),
  ),
  'us-core-implantable-device': [
    ...rules('us-core-implantable-device'),
    {
      element: 'udiCarrier.deviceIdentifier',
      holds: ({ udiCarrier }) =>
        objectsOf(udiCarrier).every((each) => has(each, 'deviceIdentifier')),
    },
  ],
  'us-core-observation-lab': [
    ...rules('us-core-observation-lab'),
    {
      // us-core-22
      element: 'referenceRange.system',
      version: '8.0.0',
      isOfVersion: true,
      holds: ({ referenceRange }) =>
        objectsOf(referenceRange).every((range) =>
          LOW_AND_HIGH.every((end) =>
            objectsOf(range[end]).every(
              ({ system }) => system === undefined || system === UCUM,
            ),
          ),
        ),
    },
  ],
};

interface Counted extends Defect {
  resourceType: string;
  resources: number;
  sources: Set<RecordSource>;
}

/** Counts how the resources of a record conform to US Core. */
export class ConformanceCount {
  #resources = 0;
  #claiming = 0;
  #defective = 0;
  readonly #profiles = new Map<string, number>();
  readonly #defects = new Map<string, Counted>();
  readonly #without = new Map<string, number>();

  /**
   * @param source the source of the leading delivery; undefined for a Patient
   *   that no source delivered
   */
  add(resource: Json, source: RecordSource | undefined): void {
    const resourceType = String(resource.resourceType);
    const { claims, defects } = examined(resource);
    this.#resources += 1;
    if (claims.length > 0) this.#claiming += 1;
    if (defects.length > 0) this.#defective += 1;
    for (const claim of claims) increment(this.#profiles, claim);
    if (claims.length === 0 && defects.length === 0)
      increment(this.#without, resourceType);
    for (const defect of defects) {
      const name = JSON.stringify([
        resourceType,
        defect.profile,
        defect.element,
        defect.isStated,
      ]);
      const counted = this.#defects.get(name) ?? {
        ...defect,
        resourceType,
        resources: 0,
        sources: new Set(),
      };
      counted.resources += 1;
      if (source !== undefined) counted.sources.add(source);
      this.#defects.set(name, counted);
    }
  }

  /** The report in one sentence, for readers of a summary. */
  get sentence(): string {
    const all = `${this.#claiming} of ${this.#resources} entries meet the US standard for health records (US Core)`;
    if (this.#defective === 0) return `${all}.`;
    const many =
      this.#defective === 1 ? 'one entry' : `${this.#defective} entries`;
    return `${all}; in ${many} a source left something out, or wrote it in another form.`;
  }

  report(patientId: string): RecordConformance {
    return {
      patientId,
      resources: this.#resources,
      claiming: this.#claiming,
      summary: this.sentence,
      profiles: mostFirst(this.#profiles).map(([profile, resources]) => ({
        profile,
        resources,
      })),
      defects: [...this.#defects.values()]
        .map(({ sources, isStated, ...defect }) => ({
          ...defect,
          handling: isStated
            ? ('stated-as-unknown' as const)
            : ('profile-not-claimed' as const),
          sources: [...sources].sort(),
          text: inWords({ ...defect, isStated }),
        }))
        .sort(
          (left, right) =>
            right.resources - left.resources ||
            (left.text < right.text ? -1 : 1),
        ),
      withoutProfile: mostFirst(this.#without).map(
        ([resourceType, resources]) => ({
          resourceType,
          resources,
        }),
      ),
    };
  }
}

const increment = (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
};

const mostFirst = (counts: ReadonlyMap<string, number>): [string, number][] =>
  [...counts].sort(([left], [right]) => (left < right ? -1 : 1));

/**
 * What a source left out or wrote otherwise, by the element of a requirement,
 * as the end of "… without".
 */
const ELEMENT_WORDS: Readonly<Record<string, string>> = lookupTable(
  words.elements,
);
/** Types in plain words, one and several: "3 prescriptions". */
const TYPE_WORDS: Readonly<Record<string, readonly string[]>> = lookupTable(
  words.types,
);

/**
 * "101 prescriptions without an ordering provider; the record says that it is
 * unknown."
 */
function inWords({
  resourceType,
  profile,
  element,
  resources,
  isStated,
}: Omit<Counted, 'sources'>): string {
  const [one, many] = TYPE_WORDS[resourceType] ?? [resourceType, resourceType];
  const what = `${resources} ${resources === 1 ? one : many} without ${ELEMENT_WORDS[element] ?? element}`;
  return isStated
    ? `${what}; the record says that it is unknown.`
    : `${what}; ${resources === 1 ? 'it does' : 'they do'} not claim ${profile}.`;
}

const BASE = 'http://hl7.org/fhir/us/core/StructureDefinition/';

const BY_TYPE = new Map<string, Profile[]>();
for (const profile of ALL_PROFILES)
  BY_TYPE.set(profile.type, [...(BY_TYPE.get(profile.type) ?? []), profile]);

/** What a source left out or wrote in a way that a profile does not allow. */
interface Defect {
  profile: string;
  element: string;
  /**
   * Whether the resource says that the element is unknown; otherwise it does
   * not claim the profile.
   */
  isStated: boolean;
}

export interface Examined {
  /**
   * The resource with the profiles that it claims in `meta.profile`, and with
   * what these need said.
   */
  resource: Json;
  /** Canonical URLs of the profiles with their versions. */
  claims: string[];
  defects: Defect[];
}

/**
 * The resource as it is given out: `meta.profile` names the US Core profiles
 * that it conforms to, by our own check. Elements that a profile requires and
 * the source left out are stated as unknown, never invented. Claims of a source
 * to US Core are not kept, because merging has changed the resource; those of
 * other guides are. What is not FHIR R4 in itself claims nothing.
 */
export function examined(resource: Json): Examined {
  const profiles = profilesFor(resource);
  let filled = resource;
  const defects: Defect[] = [];
  const claims: string[] = [];
  const isReversed = profiles.length > 0 && hasReversedPeriod(resource);
  let [checked, isR4]: [Json | undefined, boolean] = [undefined, false];
  for (const { name, requires: own } of profiles) {
    const requires = [
      ...own,
      ...(isReversed ? [IN_ORDER] : []),
      ...(BOUNDS[name] ?? []),
    ];
    const lacking = requires.filter(({ holds }) => !holds(resource));
    const missing = lacking.filter(({ isOfVersion }) => isOfVersion !== true);
    const completed = fill(filled, requires);
    const unmet =
      completed === resource
        ? lacking
        : requires.filter(({ holds }) => !holds(completed));
    // After what is unknown has been filled in, which R4 may require too.
    if (completed !== checked)
      [checked, isR4] = [completed, r4Faults(completed).length === 0];
    if (!isR4)
      defects.push({ profile: name, element: NOT_R4, isStated: false });
    const versions = US_CORE_VERSIONS.filter(
      (version) => isR4 && !unmet.some((each) => concerns(each, version)),
    );
    if (versions.length > 0) filled = completed;
    claims.push(...versions.map((version) => `${BASE}${name}|${version}`));
    for (const element of new Set(missing.map((each) => each.element))) {
      const isStated =
        versions.length > 0 && !unmet.some((each) => each.element === element);
      defects.push({ profile: name, element, isStated });
    }
  }
  return { resource: withClaims(filled, claims), claims, defects };
}

export const inUsCore = (resource: Json): Json => examined(resource).resource;

/** Names of the profiles that a resource of the type may claim. */
export const profilesOfType = (type: string): string[] =>
  (BY_TYPE.get(type) ?? []).flatMap(({ name }) =>
    US_CORE_VERSIONS.map((version) => `${BASE}${name}|${version}`),
  );

const profilesFor = (resource: Json): Profile[] =>
  (BY_TYPE.get(String(resource.resourceType)) ?? []).filter(
    ({ isFor }) => isFor === undefined || isFor(resource),
  );

const NOT_R4 = 'FHIR R4';

/**
 * A period ends before it starts (per-1 of FHIR itself), which sources get
 * wrong, and which nothing that is filled in mends.
 */
const IN_ORDER: Requirement = { element: 'Period', holds: () => false };

function hasReversedPeriod(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasReversedPeriod);
  if (!isJson(value)) return false;
  const { start, end } = value;
  if (
    start !== undefined &&
    end !== undefined &&
    Date.parse(String(start)) > Date.parse(String(end))
  )
    return true;
  // Most members are texts, which need no call.
  for (const name of Object.keys(value))
    if (typeof value[name] === 'object' && hasReversedPeriod(value[name]))
      return true;
  return false;
}

const concerns = ({ version }: Requirement, wanted: UsCoreVersion): boolean =>
  version === undefined || version === wanted;

function fill(resource: Json, requires: readonly Requirement[]): Json {
  let filled = resource;
  for (const requirement of requires)
    if (requirement.fill !== undefined && !requirement.holds(filled))
      filled = { ...filled, ...requirement.fill(filled) };
  return filled;
}

/** Keys stay in canonical order. */
function withClaims(resource: Json, claims: readonly string[]): Json {
  const meta = isJson(resource.meta) ? resource.meta : {};
  const theirs = Array.isArray(meta.profile)
    ? meta.profile.filter(
        (each) => typeof each === 'string' && !each.startsWith(BASE),
      )
    : [];
  const { profile: _profile, ...rest } = meta;
  const all = [...theirs, ...claims];
  const named = all.length === 0 ? rest : sorted({ ...rest, profile: all });
  return sorted({ ...resource, meta: named });
}
