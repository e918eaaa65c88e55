import { createHash } from 'node:crypto';
import type { Identifier } from 'fhir/r4.js';
import { z } from 'zod';
import type { DiscoveredPatient, PersonFacts } from '#ihe';
import { withoutUrn } from '#ihe';
import { lookupTable } from '../../../../../lib/lookup-table.ts';
import { isResourceId } from '../../collect/subjects.ts';
import {
  type ReadPatient,
  sourcePatient,
} from '../../patient/choose-candidates.ts';

/** A person as one community knows them: whom its documents are asked for. */
export const communityPatientSchema = z.object({
  /** Our id of the community's Patient. */
  id: z.string().refine(isResourceId),
  /** The community's id of the patient, and the OID of who gave it out. */
  localId: z.string(),
  authority: z.string(),
  /** The community, as its answer has it. */
  homeCommunity: z.string(),
});
export type CommunityPatient = z.infer<typeof communityPatientSchema>;

export interface CommunityMatch {
  community: CommunityPatient;
  patient: ReadPatient;
}

/**
 * A person of an answer, as matching and the documents' query need them.
 * Undefined without an id: such a match cannot be asked for documents.
 *
 * @param answering the community that answered, for a match that names none
 */
export function communityMatchOf(
  { patientId, person, ...found }: DiscoveredPatient,
  answering: string,
): CommunityMatch | undefined {
  const { homeCommunity = answering } = found;
  if (patientId?.extension === undefined) return undefined;
  const authority = withoutUrn(patientId.root);
  const id = patientResourceId(patientId.extension, authority, homeCommunity);
  const patient = sourcePatient({
    resourceType: 'Patient',
    id,
    ...patientOfFacts(person),
  });
  return (
    patient && {
      patient,
      community: {
        id,
        localId: patientId.extension,
        authority,
        homeCommunity,
      },
    }
  );
}

/**
 * An id that begins with the community's own where that is possible, because a
 * person who decides on a candidate looks for it there.
 */
function patientResourceId(
  localId: string,
  authority: string,
  homeCommunity: string,
): string {
  const mark = createHash('sha256')
    .update(JSON.stringify([localId, authority, withoutUrn(homeCommunity)]))
    .digest('hex');
  return /^[A-Za-z0-9-]{1,40}$/.test(localId)
    ? `${localId}.${mark.slice(0, 12)}`
    : mark.slice(0, 32);
}

const GENDERS: Readonly<Record<string, string>> = lookupTable({
  M: 'male',
  F: 'female',
  UN: 'other',
});

/** What a message says of a person, as members of a FHIR Patient. */
export function patientOfFacts({
  names,
  gender,
  birthTime,
  addresses,
  telecoms,
  otherIds,
}: PersonFacts) {
  return {
    name: names.map(({ family, given, suffix, text }) => ({
      family: family.length === 0 ? undefined : family.join(' '),
      given,
      suffix,
      text,
    })),
    gender: GENDERS[gender ?? ''],
    birthDate: birthTime?.date,
    address: addresses.map(({ lines, city, state, zip }) => ({
      line: lines,
      city,
      state,
      postalCode: zip,
    })),
    telecom: telecoms.map(contactOf),
    identifier: otherIds.flatMap(({ root, extension }): Identifier[] =>
      extension === undefined
        ? []
        : [{ system: `urn:oid:${withoutUrn(root)}`, value: extension }],
    ),
  };
}

function contactOf(url: string) {
  const [, scheme = 'tel', value = ''] = /^(?:(\w+):)?(.*)$/s.exec(url) ?? [];
  return { system: SYSTEMS[scheme.toLowerCase()] ?? 'other', value };
}

const SYSTEMS: Readonly<Record<string, string>> = lookupTable({
  tel: 'phone',
  fax: 'fax',
  mailto: 'email',
});
