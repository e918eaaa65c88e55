import {
  birthDateOfHl7,
  type DiscoveryCriteria,
  type DiscoveryVerdict,
  type MatchedPatient,
  type PatientDiscoveryRequest,
  readHl7Time,
  withoutUrn,
} from '#ihe';
import type { Json } from '#record-summary/fhir';
import {
  findPatient,
  type StoredPatient,
} from '../../people/patients/patient-store.ts';
import type { Store } from '../../platform/database/database.ts';
import { patientOfFacts } from '../../sources/connectors/ihe/discovery/community-patient.ts';
import { criteriaOf } from '../../sources/connectors/ihe/discovery/describe-person.ts';
import {
  identifyPatient,
  type NeededTrait,
} from '../fhir-api/identify-patient.ts';
import type { StoredMembership } from './membership-store.ts';

/** What is said to a question, and the patient whom it gives out. */
export interface DiscoveryAnswer {
  verdict: DiscoveryVerdict;
  patientId?: string;
}

const NOBODY: DiscoveryAnswer = { verdict: { patients: [] } };

/** Attributes that are asked for when a question does not have them. */
const WANTED: Partial<Record<NeededTrait, string>> = {
  gender: 'LivingSubjectAdministrativeGenderRequested',
  zip: 'PatientAddressRequested',
};

/**
 * Answers ITI-55 by the rule of the FHIR responder's $match: one patient whom
 * networks may see, or attributes without which nobody is looked for, or nobody.
 */
export async function concludeDiscovery(
  deps: { store: Pick<Store, 'asAccount' | 'asResponder'>; idHmacKey: string },
  { accountId, settings }: StoredMembership,
  { criteria, missing }: PatientDiscoveryRequest,
): Promise<DiscoveryAnswer> {
  const described = describedPatient(criteria);
  if (missing.length > 0 || described === undefined) return NOBODY;
  const identified = await identifyPatient(
    { ...deps, finder: deps.store },
    accountId,
    described,
  );
  if ('missing' in identified) {
    const wanted = identified.missing.map((trait) => WANTED[trait]);
    const wantedAttributes = wanted.filter((each) => each !== undefined);
    return wantedAttributes.length < wanted.length
      ? NOBODY
      : { verdict: { wantedAttributes } };
  }
  const [patientId, another] = identified.holders;
  if (patientId === undefined || another !== undefined) return NOBODY;
  const patient = await deps.store.asResponder(accountId, (tx) =>
    findPatient(tx, patientId),
  );
  return patient === undefined
    ? NOBODY
    : {
        patientId,
        verdict: { patients: [matchOf(patient, settings.homeCommunity)] },
      };
}

/** Undefined when the question describes several people. */
function describedPatient(criteria: DiscoveryCriteria): Json | undefined {
  const { genders, birthTimes, names, addresses, telecoms, ids } = criteria;
  const births = new Set(birthTimes.map((time) => birthDateOfHl7(time)));
  if (new Set(genders).size > 1 || births.size !== 1) return undefined;
  const [birthDate] = births;
  const [birthTime] = birthTimes;
  if (birthDate === undefined || birthTime === undefined) return undefined;
  return {
    resourceType: 'Patient',
    ...patientOfFacts({
      names: [...names],
      gender: genders[0],
      birthTime: readHl7Time(birthTime),
      addresses: [...addresses],
      telecoms: [...telecoms],
      otherIds: [...ids],
    }),
  };
}

function matchOf(patient: StoredPatient, ownCommunity: string): MatchedPatient {
  const homeCommunity = withoutUrn(ownCommunity);
  const { names, genders, birthTimes, addresses, telecoms } = criteriaOf(
    patient,
    new Set(),
  );
  return {
    patientId: { root: homeCommunity, extension: patient.id },
    homeCommunity,
    // Our rule says yes or no.
    confidence: 100,
    person: {
      names: [...names],
      gender: genders[0],
      birthTime: readHl7Time(birthTimes[0] ?? ''),
      addresses: [...addresses],
      telecoms: [...telecoms],
      otherIds: [],
    },
  };
}
