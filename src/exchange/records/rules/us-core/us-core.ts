import { isJson, type Json, sorted } from '#record-summary/fhir';
import type { RecordSource } from '../../../../contract/primitives.ts';
import type { RecordConformance } from '../../../../contract/record-conformance.ts';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { type R4Fault, r4Faults } from '../r4/check-r4.ts';
import {
  ELEMENT_WORDS,
  type RequiredElement,
  TYPE_WORDS,
} from './defect-words.ts';
import {
  type Profile,
  type Requirement,
  US_CORE_VERSIONS,
  type UsCoreVersion,
} from './named-rules.ts';
import { ALL_PROFILES } from './profiles.ts';

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

const NAMES_OF_TYPES: Readonly<Record<string, readonly string[]>> =
  lookupTable(TYPE_WORDS);

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
  const [one, many] = NAMES_OF_TYPES[resourceType] ?? [
    resourceType,
    resourceType,
  ];
  const what = `${resources} ${resources === 1 ? one : many} without ${ELEMENT_WORDS[element]}`;
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
  element: RequiredElement;
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
  let checked: Json | undefined;
  let faults: R4Fault[] = [];
  for (const { name, requires: own, bounds } of profiles) {
    const requires = [...own, ...bounds];
    const lacking = requires.filter(({ holds }) => !holds(resource));
    const missing = lacking.filter(({ isOfVersion }) => isOfVersion !== true);
    const completed = fill(filled, requires);
    const unmet =
      completed === resource
        ? lacking
        : requires.filter(({ holds }) => !holds(completed));
    // After what is unknown has been filled in, which R4 may require too.
    if (completed !== checked)
      [checked, faults] = [completed, r4Faults(completed)];
    const isR4 = faults.length === 0;
    if (!isR4)
      defects.push({ profile: name, element: kindOf(faults), isStated: false });
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

/** Periods that end before they start are named: sources get them wrong. */
const kindOf = (faults: readonly R4Fault[]): Defect['element'] =>
  faults.every(({ rule }) => rule === 'per-1') ? 'Period' : NOT_R4;

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
