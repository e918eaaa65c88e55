import { isJson, type Json } from '../json.ts';
import { r4Faults } from '../r4/check-r4.ts';
import { BOUNDS } from './bounds.ts';
import { type Profile, type Requirement, US_CORE_VERSIONS, type UsCoreVersion } from './profile.ts';
import { ALL_PROFILES } from './profiles.ts';

const BASE = 'http://hl7.org/fhir/us/core/StructureDefinition/';

const BY_TYPE = new Map<string, Profile[]>();
for (const profile of ALL_PROFILES)
  BY_TYPE.set(profile.type, [...(BY_TYPE.get(profile.type) ?? []), profile]);

/** What a source left out or wrote in a way that a profile does not allow. */
export interface Defect {
  profile: string;
  element: string;
  /** Whether the resource says that the element is unknown; otherwise it does not claim the profile. */
  isStated: boolean;
}

export interface Examined {
  /** The resource with the profiles that it claims in `meta.profile`, and with what these need said. */
  resource: Json;
  /** Canonical URLs of the profiles with their versions. */
  claims: string[];
  defects: Defect[];
}

/**
 * The resource as it is given out: `meta.profile` names the US Core profiles that it conforms to, by our own check. Elements
 * that a profile requires and the source left out are stated as unknown, never invented. Claims of a source to US Core are
 * not kept, because merging has changed the resource; those of other guides are. What is not FHIR R4 in itself claims nothing.
 */
export function examined(resource: Json): Examined {
  const profiles = profilesFor(resource);
  let filled = resource;
  const defects: Defect[] = [];
  const claims: string[] = [];
  for (const { name, requires: own } of profiles) {
    const requires = [...own, IN_ORDER, ...(BOUNDS[name] ?? [])];
    const missing = requires.filter(({ holds, isOfVersion }) => isOfVersion !== true && !holds(resource));
    const completed = fill(filled, requires);
    const unmet = requires.filter(({ holds }) => !holds(completed));
    // After what is unknown has been filled in, which R4 may require too.
    const isR4 = r4Faults(completed).length === 0;
    if (!isR4) defects.push({ profile: name, element: NOT_R4, isStated: false });
    const versions = US_CORE_VERSIONS.filter(
      (version) => isR4 && !unmet.some((each) => concerns(each, version)),
    );
    if (versions.length > 0) filled = completed;
    claims.push(...versions.map((version) => `${BASE}${name}|${version}`));
    for (const element of new Set(missing.map((each) => each.element))) {
      const isStated = versions.length > 0 && !unmet.some((each) => each.element === element);
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

/** No period ends before it starts (per-1 of FHIR itself), which sources get wrong. */
const IN_ORDER: Requirement = { element: 'Period', holds: (resource) => !hasReversedPeriod(resource) };

function hasReversedPeriod(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasReversedPeriod);
  if (!isJson(value)) return false;
  const { start, end } = value;
  if (start !== undefined && end !== undefined && Date.parse(String(start)) > Date.parse(String(end)))
    return true;
  return Object.values(value).some(hasReversedPeriod);
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
    ? meta.profile.filter((each) => typeof each === 'string' && !each.startsWith(BASE))
    : [];
  const { profile: _profile, ...rest } = meta;
  const all = [...theirs, ...claims];
  const named = all.length === 0 ? rest : sorted({ ...rest, profile: all });
  return sorted({ ...resource, meta: named });
}

const sorted = (resource: Json): Json =>
  Object.fromEntries(Object.entries(resource).sort(([left], [right]) => (left < right ? -1 : 1)));
