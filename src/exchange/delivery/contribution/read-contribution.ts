import { statedOtherwise } from '#person-matching';
import {
  canonical,
  canonicalJson,
  isJson,
  type Json,
} from '#record-summary/fhir';
import type { ContributedEntry } from '../../../contract/contribution.ts';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
import { type FieldError, InvalidRequestError } from '../../platform/errors.ts';
import {
  deliveryFacts,
  type ExclusionReason,
} from '../../records/rules/delivery-facts.ts';
import { derivedUuid } from '../../records/rules/ids.ts';
import { hasElement, r4Faults } from '../../records/rules/r4/check-r4.ts';
import { subjectIds } from '../../records/rules/references.ts';
import { CLINICAL_TYPES, MINIMUM } from '../../records/rules/resource-types.ts';
import { withLocalReferences } from '../../sources/connectors/collect/bundle-page.ts';
import { readDescription } from '../../sources/connectors/patient/choose-candidates.ts';

/** What a caller contributes becomes deliveries of this source. */
export const CONTRIBUTION = 'contribution' as const;

/** A resource with the id that it is kept under. */
export type Contributed = Json & {
  resourceType: string;
  id: string;
  meta?: object;
};

/**
 * The resources of a contribution, each with an id and naming the patient: one
 * without an id gets one of its content, so that the same content twice is one
 * resource; one that says nothing of a patient is about this one. References
 * within the contribution become `Type/id`.
 *
 * @throws InvalidRequestError with what is wrong with each: of another patient,
 *   no FHIR R4, of no meaning
 */
export function readContribution(
  patient: Demographics & { id: string },
  entries: readonly ContributedEntry[],
  pathOf = (index: number) => `entry[${index}].resource`,
): Contributed[] {
  const identified = entries.map(({ resource, fullUrl }) => ({
    fullUrl,
    resource: {
      ...withoutVersion(resource),
      id: resource.id ?? derivedUuid([patient.id, canonicalJson(resource)]),
    },
  }));
  const resources = withLocalReferences(
    () => undefined,
    identified,
    identified.map(
      ({ resource }) =>
        canonical(withSubject(resource, patient.id)) as Contributed,
    ),
  );
  const names = resources.map(
    ({ resourceType, id }) => `${resourceType}/${id}`,
  );
  const errors = resources.flatMap((resource, index): FieldError[] => {
    const path = pathOf(index);
    const isSecond = names.indexOf(names[index] ?? '') < index;
    if (isSecond)
      return [
        {
          path,
          message: 'has the type and id of another one; contribute each once',
        },
      ];
    const others =
      resource.resourceType === 'Patient'
        ? faultsOfPerson(patient, resource)
        : [];
    const faults = others.length > 0 ? others : faultsOf(resource, patient.id);
    return faults.map((message) => ({ path, message }));
  });
  if (errors.length > 0) throw new InvalidRequestError(errors);
  return resources;
}

/**
 * Without the caller's version and its time, by which statements of a source are
 * put in order: those of a contribution are as new as the contribution.
 */
function withoutVersion(resource: ContributedEntry['resource']) {
  if (!isJson(resource.meta)) return resource;
  const { lastUpdated: _time, versionId: _version, ...meta } = resource.meta;
  return { ...resource, meta };
}

/** What a Patient says otherwise than we know it of the person. */
function faultsOfPerson(ours: Demographics, resource: Contributed): string[] {
  const { birthDate = '', ...rest } = resource;
  const theirs = readDescription(rest);
  const others = [
    ...(ours.dob.startsWith(String(birthDate)) ? [] : ['dob' as const]),
    ...(theirs === undefined ? [] : statedOtherwise(ours, theirs)),
  ];
  return others.map((trait) => `is a Patient with another ${WORDS[trait]}`);
}

const WORDS = {
  firstName: 'first name',
  dob: 'birth date',
  genderAtBirth: 'gender',
  ssn: 'SSN',
  driversLicense: 'driver’s licence',
  suffix: 'generation (senior, junior)',
} satisfies Record<'dob' | ReturnType<typeof statedOtherwise>[number], string>;

const FAULTS_MAX = 5;

function faultsOf(resource: Contributed, patientId: string): string[] {
  const faults = r4Faults(resource).slice(0, FAULTS_MAX);
  if (faults.length > 0)
    return faults.map(
      ({ element, says, isOfOtherVersion }) =>
        `${element} ${says}${isOfOtherVersion ? '; another version of FHIR has it so' : ''}`,
    );
  const { resourceType, id: sourceId } = resource;
  const delivery = {
    source: CONTRIBUTION,
    resourceType,
    sourceId,
    sha256: '',
    isConverted: false,
  };
  const { exclusion } = deliveryFacts(
    { ...delivery, content: resource },
    { patientIds: new Set([patientId]) },
  );
  return exclusion === undefined
    ? []
    : [EXCLUDED[exclusion](resourceType, patientId)];
}

/** Why the record would not hold it, for the caller. */
const EXCLUDED: Readonly<
  Record<ExclusionReason, (type: string, patientId: string) => string>
> = {
  type: (type) => `${type} is not a type that records hold`,
  incomplete: (type) =>
    `says nothing: it needs ${(MINIMUM[type] ?? []).join(' or ')}`,
  'names-nobody': (_, patientId) =>
    `names no patient: it must refer to Patient/${patientId}`,
  'names-another': (_, patientId) =>
    `names another patient: it must refer to Patient/${patientId}`,
  unreadable: () => 'is nested too deeply to be read',
};

/**
 * Elements that say whom a resource is about, in the order in which the first
 * that its type has is filled in.
 */
const SUBJECTS = ['subject', 'patient', 'beneficiary', 'for'];

function withSubject(resource: Contributed, patientId: string): Contributed {
  const element = SUBJECTS.find((each) =>
    hasElement(resource.resourceType, each),
  );
  const isUnnamed =
    element !== undefined &&
    CLINICAL_TYPES.has(resource.resourceType) &&
    subjectIds(resource).length === 0 &&
    SUBJECTS.every(
      (each) =>
        resource[each] === undefined && resource[`_${each}`] === undefined,
    );
  return isUnnamed
    ? { ...resource, [element]: { reference: `Patient/${patientId}` } }
    : resource;
}
