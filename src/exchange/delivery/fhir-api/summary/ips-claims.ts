import {
  type ChoiceOf,
  type ElementOf,
  isEnteredInError,
  isJson,
  type Json,
  objectsOf,
  type ResourceType,
} from '#record-summary/fhir';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { r4Faults } from '../../../records/rules/r4/check-r4.ts';
import {
  parseLocalReference,
  referencesIn,
} from '../../../records/rules/references.ts';
import { has, hasCode } from '../../../records/rules/us-core/named-rules.ts';

/**
 * Profiles of the International Patient Summary 2.0.0 (hl7.fhir.uv.ips), by
 * type, and what they demand beyond R4.
 */
const PROFILE_OF: {
  readonly [T in ResourceType]?: {
    name: string;
    requires: readonly (ElementOf<T> | ChoiceOf<T>)[];
  };
} = {
  AllergyIntolerance: { name: 'AllergyIntolerance', requires: ['code'] },
  Condition: { name: 'Condition', requires: ['code'] },
  Device: { name: 'Device', requires: [] },
  DeviceUseStatement: { name: 'DeviceUseStatement', requires: ['timing[x]'] },
  DiagnosticReport: {
    name: 'DiagnosticReport',
    requires: ['subject', 'effective[x]'],
  },
  Immunization: { name: 'Immunization', requires: [] },
  Medication: { name: 'Medication', requires: ['code'] },
  MedicationRequest: { name: 'MedicationRequest', requires: [] },
  MedicationStatement: {
    name: 'MedicationStatement',
    requires: ['effective[x]'],
  },
  Observation: {
    name: 'Observation-results-laboratory-pathology',
    requires: ['subject', 'performer', 'effective[x]'],
  },
  Organization: { name: 'Organization', requires: ['name'] },
  Patient: { name: 'Patient', requires: ['name', 'birthDate'] },
  Practitioner: { name: 'Practitioner', requires: ['name'] },
  PractitionerRole: { name: 'PractitionerRole', requires: [] },
  Procedure: { name: 'Procedure', requires: ['code', 'performed[x]'] },
  Specimen: { name: 'Specimen', requires: ['type'] },
};

const PROFILES: Readonly<
  Record<string, { name: string; requires: readonly string[] }>
> = lookupTable(PROFILE_OF);

const OBSERVATION_CATEGORY =
  'http://terminology.hl7.org/CodeSystem/observation-category';

/** The canonical URL of a profile of the guide, with its version. */
export const ipsProfile = (name: string): string =>
  `http://hl7.org/fhir/uv/ips/StructureDefinition/${name}-uv-ips|2.0.0`;

/**
 * The resources of a document with the IPS profiles that they conform to in
 * `meta.profile`, beside the claims they have. A profile also demands one of
 * what is referred to, so a resource claims only if all that it refers to in
 * the document does.
 */
export function withIpsClaims(resources: readonly Json[]): Json[] {
  const byName = new Map(resources.map((each) => [referenceTo(each), each]));
  const known = new Map<string, boolean>();
  const holds = (name: string): boolean => {
    const decided = known.get(name);
    if (decided !== undefined) return decided;
    // Two that refer to each other do not claim.
    known.set(name, false);
    const resource = byName.get(name);
    const isHeld =
      resource !== undefined &&
      conforms(resource) &&
      referencesIn(resource).every(
        (each) => !isProfiled(each) || !byName.has(each) || holds(each),
      );
    known.set(name, isHeld);
    return isHeld;
  };
  return resources.map((resource) => {
    const profile = PROFILES[String(resource.resourceType)];
    return profile !== undefined && holds(referenceTo(resource))
      ? withProfile(resource, ipsProfile(profile.name))
      : resource;
  });
}

const referenceTo = ({ resourceType, id }: Json): string =>
  `${String(resourceType)}/${String(id)}`;
const isProfiled = (reference: string): boolean =>
  PROFILES[parseLocalReference(reference)?.type ?? ''] !== undefined;

const profilesOf = ({ meta }: Json): unknown[] =>
  isJson(meta) && Array.isArray(meta.profile) ? meta.profile : [];
export const hasProfile = (resource: Json, profile: string): boolean =>
  profilesOf(resource).includes(profile);

export function withProfile(resource: Json, profile: string): Json {
  const meta = isJson(resource.meta) ? resource.meta : {};
  return {
    ...resource,
    meta: { ...meta, profile: [...profilesOf(resource), profile] },
  };
}

function conforms(resource: Json): boolean {
  const profile = PROFILES[String(resource.resourceType)];
  if (
    profile === undefined ||
    isEnteredInError(resource) ||
    r4Faults(resource).length > 0
  )
    return false;
  if (!profile.requires.every((element) => has(resource, element)))
    return false;
  if (resource.resourceType === 'Observation')
    return isLaboratoryResult(resource);
  return resource.doNotPerform !== true;
}

/**
 * The category once, and a value or the reason for none, of the whole and of
 * each part (ips-2, ips-3).
 */
function isLaboratoryResult(resource: Json): boolean {
  const parts = objectsOf(resource.component);
  const isValued = (of: Json): boolean =>
    has(of, 'value[x]') || has(of, 'dataAbsentReason');
  return (
    objectsOf(resource.category).filter((each) =>
      hasCode(each, OBSERVATION_CATEGORY, ['laboratory']),
    ).length === 1 &&
    !has(resource, 'effectiveInstant') &&
    !has(resource, 'effectiveTiming') &&
    (isValued(resource) || has(resource, 'hasMember') || parts.length > 0) &&
    parts.every(isValued)
  );
}
