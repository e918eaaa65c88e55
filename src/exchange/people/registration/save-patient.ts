import { v7 as uuidv7 } from 'uuid';
import { compareIdentifiers } from '#person-matching';
import type {
  PatientDemographics,
  UpdatePatientBody,
} from '../../../contract/patients.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { OvertakenError } from '../../platform/database/retry.ts';
import {
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  orNotFound,
} from '../../platform/errors.ts';
import { removeFromTreatmentCohorts } from '../cohorts/cohort-store.ts';
import {
  facilityExists,
  findFacilityIds,
} from '../facilities/facility-store.ts';
import {
  claimKeys,
  findByIdentityKeys,
  findPatients,
  insertPatient,
  lockPatient,
  releaseOtherKeys,
  type StoredPatient,
  updatePatient,
} from '../patients/patient-store.ts';
import type { Demographics } from '../patients/rules/demographics.ts';
import { identityKeys, ownKeys } from '../patients/rules/identity-keys.ts';
import {
  afterMatch,
  isSameContent,
  mergedContent,
  newContent,
  overfullList,
  type PatientContent,
  replacedBy,
  replacedContent,
  sizesOf,
  unitedIds,
} from '../patients/rules/patient-content.ts';
import { normaliseDemographics } from '../patients/rules/patient-normalisation.ts';

export interface SaveContext {
  tx: AccountTx;
  /** ID_HMAC_KEY */
  hmacKey: string;
}

/**
 * Creates a patient, or merges the request into the matching patient (E4). The
 * patient's row stays locked until the transaction ends. Throws NotFoundError
 * for an unknown facility, InvalidRequestError if a list of the patient would
 * become too long, and OvertakenError if the same person was created
 * concurrently (docs/decisions/0053-keys-are-the-locks.md).
 */
export async function createOrMatchPatient(
  { tx, hmacKey }: SaveContext,
  body: PatientDemographics,
  facilityId: string,
): Promise<{
  patient: StoredPatient;
  isNew: boolean;
  replaced?: ReturnType<typeof replacedBy>;
}> {
  await requireFacility(tx, facilityId);
  const given = normaliseDemographics(body);
  const {
    keys,
    known: found,
    held,
  } = await findKnown({ tx, hmacKey }, given, body.externalId);
  if (found === undefined) {
    const patient = await insertPatient(
      tx,
      uuidv7(),
      newContent(given, body, [facilityId]),
      keys,
      held,
    );
    return { patient, isNew: true };
  }

  const known = await lockPatient(tx, found.id);
  if (known === undefined)
    throw new OvertakenError('the matching patient was deleted concurrently');
  if (compareIdentifiers(known, given) === 'two')
    throw new OvertakenError(
      'the matching patient got another identifier concurrently',
    );
  await claimKeys(tx, known.id, keys);
  const content = mergedContent(known, given, body, facilityId);
  requireRoom(known, content);
  const patient = await store(tx, known, content);
  return {
    patient,
    isNew: false,
    replaced: replacedBy(known, afterMatch(known, given, body)),
  };
}

/**
 * The patient that `createOrMatchPatient` would match; undefined if there is
 * none.
 */
export async function findMatch(
  context: SaveContext,
  body: PatientDemographics,
): Promise<StoredPatient | undefined> {
  return (
    await findKnown(context, normaliseDemographics(body), body.externalId)
  ).known;
}

/**
 * The oldest patient who has one of the identity keys and does not contradict,
 * first of all one who has the same SSN or driver's licence: another one means
 * two people, who then have keys of their own
 * (docs/decisions/0151-contradicting-patients-stay-apart.md). `keys` are those
 * that the person is to hold, and `held` is the number of those that other
 * patients hold.
 */
async function findKnown(
  { tx, hmacKey }: SaveContext,
  given: Demographics,
  externalId: string | undefined,
): Promise<{ keys: Buffer[]; known?: StoredPatient; held: number }> {
  const keys = identityKeys(hmacKey, tx.accountId, { ...given, externalId });
  const own = keys.length === 0 ? [] : ownKeys(hmacKey, tx.accountId, given);
  const { ids, held } = await findByIdentityKeys(tx, [...keys, ...own]);
  const holders = await findPatients(tx, ids);
  const fitting = holders.filter(
    (holder) => compareIdentifiers(holder, given) !== 'two',
  );
  const known =
    fitting.find((holder) => compareIdentifiers(holder, given) === 'one') ??
    fitting[0];
  // If others hold some of the keys, the person is known by those of the own
  // SSN or licence.
  const isAlone = holders.every((holder) => holder === known);
  return { keys: isAlone ? keys : [...keys, ...own], known, held };
}

/**
 * Replaces a patient's demographics (PUT). Members absent from the body are
 * removed, except the status flags and the facilities. `checkVersion` is called
 * with the locked patient first and may throw to reject the change. Throws
 * NotFoundError, and ConflictError if another patient has these demographics.
 */
export async function replacePatient(
  { tx, hmacKey }: SaveContext,
  id: string,
  body: UpdatePatientBody,
  facilityId: string | undefined,
  checkVersion: (patient: StoredPatient) => void,
): Promise<StoredPatient> {
  const given = normaliseDemographics(body);
  const known = orNotFound('Patient', await lockPatient(tx, id));
  checkVersion(known);
  if (facilityId !== undefined) await requireFacility(tx, facilityId);

  const keys = identityKeys(hmacKey, tx.accountId, {
    ...given,
    externalId: body.externalId,
  });
  const own = keys.length === 0 ? [] : ownKeys(hmacKey, tx.accountId, given);
  await claimKeys(tx, known.id, keys);
  // Only after claimKeys, which waits for concurrent transactions that claim
  // one of the keys.
  const holders = await findPatients(
    tx,
    (await findByIdentityKeys(tx, [...keys, ...own])).ids,
  );
  const others = holders.filter(({ id: holder }) => holder !== known.id);
  const other = others.find(
    (holder) => compareIdentifiers(holder, given) !== 'two',
  );
  if (other !== undefined) {
    throw new ConflictError(
      `Patient ${other.id} already has these demographics: same names, date of birth, gender and a zip in common`,
    );
  }
  if (others.length > 0) await claimKeys(tx, known.id, own);
  await releaseOtherKeys(tx, known.id, [...keys, ...own]);
  const content = replacedContent(known, given, body, facilityId);
  requireRoom(known, content);
  return store(tx, known, content);
}

/**
 * Changes status flags only. `checkVersion` is called with the locked patient
 * first and may throw. Throws NotFoundError.
 */
export async function changeStatus(
  tx: AccountTx,
  id: string,
  status: { hieOptOut?: boolean; treatmentRelationship?: boolean },
  checkVersion: (patient: StoredPatient) => void,
): Promise<StoredPatient> {
  const known = orNotFound('Patient', await lockPatient(tx, id));
  checkVersion(known);
  const { id: _id, version, createdAt, ...content } = known;
  return store(tx, known, { ...content, ...status });
}

/**
 * Replaces the patient's list of facilities. `checkVersion` is called with the
 * locked patient first and may throw to reject the change. Throws NotFoundError
 * for an unknown patient, InvalidRequestError for an unknown facility.
 */
export async function setPatientFacilities(
  tx: AccountTx,
  id: string,
  facilityIds: readonly string[],
  checkVersion: (patient: StoredPatient) => void,
): Promise<StoredPatient> {
  const known = orNotFound('Patient', await lockPatient(tx, id));
  checkVersion(known);
  const there = await findFacilityIds(
    tx,
    facilityIds.map((facilityId) => facilityId.toLowerCase()),
  );
  const errors = facilityIds.flatMap((facilityId, index) =>
    there.has(facilityId.toLowerCase())
      ? []
      : [
          {
            path: `facilityIds[${index}]`,
            message: `there is no facility ${facilityId}`,
          },
        ],
  );
  if (errors.length > 0) throw new InvalidRequestError(errors);
  const { id: _id, version, createdAt, ...content } = known;
  return store(tx, known, {
    ...content,
    facilityIds: unitedIds([], facilityIds),
  });
}

/**
 * Writes the content if it has changed. If the treatment relationship ends,
 * removes the patient from treatment cohorts.
 */
async function store(
  tx: AccountTx,
  known: StoredPatient,
  content: PatientContent,
): Promise<StoredPatient> {
  if (known.treatmentRelationship && !content.treatmentRelationship) {
    await removeFromTreatmentCohorts(tx, known.id);
  }
  const { id, version, createdAt, ...before } = known;
  return isSameContent(before, content)
    ? known
    : updatePatient(tx, id, content);
}

/**
 * Throws InvalidRequestError if the change makes a list of the patient too
 * long.
 */
function requireRoom(known: StoredPatient, content: PatientContent): void {
  const overfull = overfullList(known.id, sizesOf(known), sizesOf(content));
  if (overfull !== undefined) throw new InvalidRequestError([overfull]);
}

async function requireFacility(tx: AccountTx, id: string): Promise<void> {
  if (!(await facilityExists(tx, id))) throw new NotFoundError('Facility');
}
