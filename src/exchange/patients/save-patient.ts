import { v7 as uuidv7 } from 'uuid';
import type { PatientDemographics } from '../../contract/patients.ts';
import { removeFromTreatmentCohorts } from '../cohorts/cohort-store.ts';
import { facilityExists, findFacilityIds } from '../facilities/facility-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { OvertakenError } from '../platform/database/retry.ts';
import { ConflictError, InvalidRequestError, NotFoundError } from '../platform/errors.ts';
import {
  claimKeys,
  findByIdentityKeys,
  findPatient,
  insertPatient,
  lockPatient,
  releaseOtherKeys,
  type StoredPatient,
  updatePatient,
} from './patient-store.ts';
import { identityKeys } from './rules/identity-keys.ts';
import {
  isSameContent,
  mergedContent,
  newContent,
  type PatientContent,
  unitedIds,
} from './rules/patient-content.ts';
import { normaliseDemographics } from './rules/patient-normalisation.ts';
import { overfullList, sizesOf } from './rules/patient-room.ts';

export interface SaveContext {
  tx: AccountTx;
  /** ID_HMAC_KEY */
  hmacKey: string;
}

/**
 * Create or update (E4): whoever matches a known patient is that patient, and what is new is added to what is known.
 * The patient's row is held until the transaction ends. Throws NotFoundError for an unknown facility, OvertakenError when
 * somebody else has just made the same person known (docs/decisions/0053-keys-are-the-locks.md).
 */
export async function createOrMatchPatient(
  { tx, hmacKey }: SaveContext,
  body: PatientDemographics,
  facilityId: string,
): Promise<{ patient: StoredPatient; isNew: boolean }> {
  await requireFacility(tx, facilityId);
  const given = normaliseDemographics(body);
  const keys = identityKeys(hmacKey, tx.accountId, given);

  // Keys that point to several patients: the oldest one wins.
  const [knownId] = await findByIdentityKeys(tx, keys);
  if (knownId === undefined) {
    const content = newContent(given, body, facilityId);
    return { patient: await insertPatient(tx, uuidv7(), content, keys), isNew: true };
  }

  const known = await lockPatient(tx, knownId);
  if (known === undefined) throw new OvertakenError('the matching patient was deleted meanwhile');
  await claimKeys(tx, known.id, keys);
  const content = mergedContent(known, given, body, facilityId);
  requireRoom(known, content);
  return { patient: await store(tx, known, content), isNew: false };
}

/** Whom `createOrMatchPatient` would take the person for. */
export async function findMatch(
  { tx, hmacKey }: SaveContext,
  body: PatientDemographics,
): Promise<StoredPatient | undefined> {
  const keys = identityKeys(hmacKey, tx.accountId, normaliseDemographics(body));
  const [knownId] = await findByIdentityKeys(tx, keys);
  return knownId === undefined ? undefined : findPatient(tx, knownId);
}

/**
 * Replaces a patient's demographics (PUT): what the body leaves out is gone, except the status flags and the
 * facilities. `checkVersion` sees the patient first and may refuse.
 * Throws NotFoundError, and ConflictError when another patient has these demographics.
 */
export async function replacePatient(
  { tx, hmacKey }: SaveContext,
  id: string,
  body: PatientDemographics,
  facilityId: string | undefined,
  checkVersion: (patient: StoredPatient) => void,
): Promise<StoredPatient> {
  const given = normaliseDemographics(body);
  const known = await lockPatient(tx, id);
  if (known === undefined) throw new NotFoundError('Patient');
  checkVersion(known);
  if (facilityId !== undefined) await requireFacility(tx, facilityId);

  const keys = identityKeys(hmacKey, tx.accountId, given);
  await claimKeys(tx, known.id, keys);
  // Only now, for a key that somebody was about to take has been waited for.
  const holders = await findByIdentityKeys(tx, keys);
  const other = holders.find((holder) => holder !== known.id);
  if (other !== undefined) {
    throw new ConflictError(
      `Patient ${other} has these demographics: same names, date of birth, gender and a zip`,
    );
  }
  await releaseOtherKeys(tx, known.id, keys);
  const content = {
    ...given,
    externalId: body.externalId ?? null,
    facilityIds: unitedIds(known.facilityIds, facilityId === undefined ? [] : [facilityId]),
    ...statusOf(body, known),
  };
  requireRoom(known, content);
  return store(tx, known, content);
}

/** Switches status flags alone. `checkVersion` sees the patient first and may refuse. Throws NotFoundError. */
export async function changeStatus(
  tx: AccountTx,
  id: string,
  status: { hieOptOut?: boolean; treatmentRelationship?: boolean },
  checkVersion: (patient: StoredPatient) => void,
): Promise<StoredPatient> {
  const known = await lockPatient(tx, id);
  if (known === undefined) throw new NotFoundError('Patient');
  checkVersion(known);
  const { id: _id, version, createdAt, additionalIdentifiers, ...content } = known;
  return store(tx, known, { ...content, ...status });
}

/**
 * Gives the patient these facilities and no others. `checkVersion` sees the patient first and may refuse.
 * Throws NotFoundError for an unknown patient, InvalidRequestError for an unknown facility.
 */
export async function setPatientFacilities(
  tx: AccountTx,
  id: string,
  facilityIds: readonly string[],
  checkVersion: (patient: StoredPatient) => void,
): Promise<StoredPatient> {
  const known = await lockPatient(tx, id);
  if (known === undefined) throw new NotFoundError('Patient');
  checkVersion(known);
  const there = await findFacilityIds(
    tx,
    facilityIds.map((facilityId) => facilityId.toLowerCase()),
  );
  const errors = facilityIds.flatMap((facilityId, index) =>
    there.has(facilityId.toLowerCase())
      ? []
      : [{ path: `facilityIds[${index}]`, message: `there is no facility ${facilityId}` }],
  );
  if (errors.length > 0) throw new InvalidRequestError(errors);
  const { id: _id, version, createdAt, additionalIdentifiers, ...content } = known;
  return store(tx, known, { ...content, facilityIds: unitedIds([], facilityIds) });
}

/** Writes what has changed; losing the treatment relationship ends the patient's treatment cohorts too. */
async function store(tx: AccountTx, known: StoredPatient, content: PatientContent): Promise<StoredPatient> {
  if (known.treatmentRelationship && !content.treatmentRelationship) {
    await removeFromTreatmentCohorts(tx, known.id);
  }
  const { id, version, createdAt, additionalIdentifiers, ...before } = known;
  return isSameContent(before, content) ? known : updatePatient(tx, id, content);
}

/** Throws InvalidRequestError when the change makes a list of the patient too long. */
function requireRoom(known: StoredPatient, content: PatientContent): void {
  const overfull = overfullList(known.id, sizesOf(known), sizesOf(content));
  if (overfull !== undefined) throw new InvalidRequestError([overfull]);
}

async function requireFacility(tx: AccountTx, id: string): Promise<void> {
  if (!(await facilityExists(tx, id))) throw new NotFoundError('Facility');
}

function statusOf(body: PatientDemographics, known: StoredPatient) {
  return {
    hieOptOut: body.status?.hieOptOut ?? known.hieOptOut,
    treatmentRelationship: body.status?.treatmentRelationship ?? known.treatmentRelationship,
  };
}
