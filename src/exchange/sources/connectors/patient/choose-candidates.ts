import type { Patient } from 'fhir/r4.js';
import { z } from 'zod';
import {
  agreeingTraits,
  agreesWithPerson,
  comparePersons,
  contradictingTraits,
  describesExactly,
  describesPerson,
  gradeMatch,
  isContradicted,
  type PersonComparison,
  traitsOfPatient,
  traitsOfPerson,
  withoutShared,
} from '#person-matching';
import { counted } from '../../../../lib/counted.ts';
import type { Bundle } from '../collect/bundle-page.ts';
import { isResourceId } from '../collect/subjects.ts';
import type { HeldCandidate, SoughtPerson } from '../connector.ts';

export interface SourceCandidate {
  patient: ReadPatient;
  /** The source itself says that this is certainly the person. */
  isClaimed: boolean;
}

export interface Chosen {
  accepted: ReadPatient[];
  held: readonly HeldCandidate[];
  /**
   * Several may be our person and contradict each other: asking again in other
   * words would only hide one of them.
   */
  isAmbiguous?: boolean;
  /**
   * For the timeline, without anything about the people: how many who may be
   * the person were not taken, and why.
   */
  heldBack?: string;
}

/**
 * Chooses the Patients that are our person, of those that a source returned.
 * Each is certain by our own rules (docs/matching.md). Beside one that the
 * source itself is certain of, another one that it is not certain of is held
 * back. Of two that contradict each other, by another SSN, gender, birth date
 * or given name, the one that is described exactly as ours is taken; if neither
 * or both are, none is: they are two people, and only one of them can be ours.
 * Beside one that is described exactly, one with an error in name or date is
 * taken only if it has our SSN or driver's licence.
 * What a person has decided counts more, as long as the Patient still resembles
 * ours: one that contradicts an accepted Patient is not taken beside it.
 *
 * @param shared what they have in common that is no household's (`sharedWith`)
 */
export function chooseCandidates(
  person: SoughtPerson,
  found: readonly SourceCandidate[],
  shared: ReadonlySet<string> = new Set(),
): Chosen {
  const ours = withoutShared(traitsOfPerson(person), shared);
  const comparisonOf = ({ patient }: SourceCandidate) =>
    comparePersons(ours, withoutShared(traitsOfPatient(patient), shared));
  const isAlike = (each: SourceCandidate) =>
    gradeMatch(comparisonOf(each)).grade !== 'certainly-not';
  const decisionOn = ({ patient }: SourceCandidate) =>
    person.review?.decided.get(patient.id);
  const confirmed = found.filter(
    (each) => decisionOn(each) === true && isAlike(each),
  );
  const candidates = found.filter(
    (each) => decisionOn(each) !== false && !confirmed.includes(each),
  );
  const certain = candidates.filter(({ patient }) =>
    describesPerson(person, patient, shared),
  );
  const claimed = certain.filter(({ isClaimed }) => isClaimed);
  const agreed = claimed.length > 0 ? claimed : certain;
  const exact = agreed.filter(({ patient }) =>
    describesExactly(person, patient, shared),
  );
  const standing = exact.filter(
    (each) => !exact.some((other) => areTwo(each, other)),
  );
  const further = agreed.filter((each) => !exact.includes(each));
  const accepted = [
    ...standing,
    ...further.filter(
      (each) =>
        (exact.length === 0 || hasIdentifier(comparisonOf(each))) &&
        !exact.concat(further).some((other) => areTwo(each, other)),
    ),
  ].filter((each) => !confirmed.some((other) => areTwo(each, other)));
  const held = candidates.filter(
    (each) =>
      !accepted.includes(each) && (certain.includes(each) || isAlike(each)),
  );
  const counts: ReadonlyArray<readonly [number, string]> = [
    [
      certain.length - agreed.length,
      'the source itself is less sure of than of another one',
    ],
    [
      agreed.length - accepted.length,
      'cannot be this patient together with another one',
    ],
    [
      candidates.filter((each) => !certain.includes(each) && isAlike(each))
        .length,
      'may be this patient, which is not certain',
    ],
  ];
  const reasons = counts.flatMap(([count, why]) =>
    count === 0 ? [] : [`${counted(count, 'Patient')} that ${why}`],
  );
  return {
    accepted: [...confirmed, ...accepted].map(({ patient }) => patient),
    held: held.map(({ patient }) => heldCandidate(person, patient, shared)),
    ...(agreed.length > 0 && accepted.length + confirmed.length === 0
      ? { isAmbiguous: true }
      : {}),
    ...(reasons.length === 0
      ? {}
      : {
          heldBack: `The source also returned ${reasons.join('; ')}. Nothing of these was collected: they are on the list of candidates (npm run admin -- candidates list), for a person to decide`,
        }),
  };
}

/**
 * What these Patients have in common with the person although it is no
 * household's. Asked only if one of them would be taken otherwise.
 */
export async function sharedWith(
  person: SoughtPerson,
  found: readonly Patient[],
): Promise<ReadonlySet<string>> {
  const alike = found.filter((patient) => agreesWithPerson(person, patient));
  if (alike.length === 0 || person.sharedAmong === undefined) return new Set();
  return person.sharedAmong(alike);
}

/** A Patient for a person to decide on, beside ours. */
export function heldCandidate(
  person: SoughtPerson,
  patient: ReadPatient,
  shared: ReadonlySet<string>,
): HeldCandidate {
  const compared = comparePersons(
    withoutShared(traitsOfPerson(person), shared),
    withoutShared(traitsOfPatient(patient), shared),
  );
  return {
    id: patient.id,
    grade: gradeMatch(compared).grade,
    agrees: agreeingTraits(compared),
    contradicts: contradictingTraits(compared),
  };
}

const hasIdentifier = ({ ssn, licence }: PersonComparison): boolean =>
  ssn || licence;

function areTwo(one: SourceCandidate, other: SourceCandidate): boolean {
  if (one === other || one.patient.id === other.patient.id) return false;
  const compared = comparePersons(
    traitsOfPatient(one.patient),
    traitsOfPatient(other.patient),
  );
  const isOtherName =
    compared.firstName !== 'same' && compared.firstName !== 'part';
  return (
    isContradicted(compared) || isOtherName || compared.birthDate !== 'same'
  );
}

/**
 * The elements of a Patient that matching reads; an element with an invalid
 * shape counts as missing.
 */
const text = z.string().optional().catch(undefined);
const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(item.nullable().catch(null))
    .transform((items) => items.filter((value) => value !== null))
    .optional()
    .catch(undefined);

const descriptionSchema = z.object({
  resourceType: z.literal('Patient'),
  birthDate: text,
  gender: z
    .enum(['male', 'female', 'other', 'unknown'])
    .optional()
    .catch(undefined),
  name: listOf(
    z.object({
      family: text,
      given: listOf(z.string()),
      suffix: listOf(z.string()),
      text,
    }),
  ),
  address: listOf(
    z.object({
      line: listOf(z.string()),
      city: text,
      state: text,
      postalCode: text,
    }),
  ),
  telecom: listOf(
    z.object({
      system: z
        .enum(['phone', 'fax', 'email', 'pager', 'url', 'sms', 'other'])
        .optional()
        .catch(undefined),
      value: text,
    }),
  ),
  identifier: listOf(
    z.object({
      system: text,
      value: text,
      type: z
        .object({ coding: listOf(z.object({ code: text })) })
        .optional()
        .catch(undefined),
      assigner: z.object({ display: text }).optional().catch(undefined),
    }),
  ),
  link: listOf(z.object({ other: z.object({ reference: text }), type: text })),
});

const patientSchema = descriptionSchema.extend({
  id: z.string().refine(isResourceId),
});

export type ReadPatient = Patient & { id: string };

/**
 * Reads a Patient with a usable id, reduced to what matching needs; undefined
 * for anything else.
 */
export function sourcePatient(resource: unknown): ReadPatient | undefined {
  const patient = patientSchema.safeParse(resource);
  return patient.success ? (patient.data as ReadPatient) : undefined;
}

/**
 * The same for a Patient that need not have an id: the description of a person.
 */
export function readDescription(resource: unknown): Patient | undefined {
  const described = descriptionSchema.safeParse(resource);
  return described.success ? (described.data as Patient) : undefined;
}

export function sourcePatients(bundle: Bundle): ReadPatient[] {
  return bundle.entries.flatMap(
    ({ resource }) => sourcePatient(resource) ?? [],
  );
}
