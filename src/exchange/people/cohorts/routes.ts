import { v7 as uuidv7 } from 'uuid';
import type {
  CohortPatientsBody,
  CohortResponse,
} from '../../../contract/cohorts.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type FieldError,
  InvalidRequestError,
  NotFoundError,
  orNotFound,
} from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { checkETag, eTagHeader, eTagOf } from '../../platform/http/etag.ts';
import { created, noContent, ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import type { CohortSchedules } from '../monitoring/cohort-schedules.ts';
import { findPatient, lockPatient } from '../patients/patient-store.ts';
import { serializePatient } from '../patients/serializers.ts';
import {
  assignToCohorts,
  changeCohort,
  deleteEmptyCohort,
  nameTaken,
  readCohortAgain,
  requireCohort,
} from './change-cohort.ts';
import {
  findCohort,
  insertCohort,
  listCohorts,
  lockConsent,
  type StoredCohort,
} from './cohort-store.ts';
import {
  addAllPatients,
  addPatients,
  COHORT_PATIENT_ORDER,
  listCohortPatients,
  listWithoutTreatment,
  readConsent,
  removePatients,
} from './member-store.ts';

/**
 * Routes for cohorts. After each change has committed, the cohort's monitoring
 * schedules are updated.
 */
export function addCohortRoutes(
  operations: Operations,
  deps: { cohortSchedules: Pick<CohortSchedules, 'cohortChanged'> },
): void {
  const withSchedules = ({ accountId }: AccountTx, cohortId: string) => ({
    targetId: cohortId,
    afterCommit: () => deps.cohortSchedules.cohortChanged(accountId, cohortId),
  });

  operations.read('listCohorts', async (tx) => {
    const cohorts = await listCohorts(tx);
    return ok({ cohorts: cohorts.map(serializeCohort) });
  });

  operations.write('createCohort', async (tx, { body }) => {
    const cohort = await insertCohort(tx, { ...body, id: uuidv7() });
    if (cohort === undefined) throw nameTaken();
    return created(serializeCohort(cohort), {
      headers: eTagHeader(cohort),
      ...withSchedules(tx, cohort.id),
    });
  });

  operations.read('getCohort', async (tx, { params }) => {
    const cohort = orNotFound('Cohort', await findCohort(tx, params.id));
    return ok(serializeCohort(cohort), { headers: eTagHeader(cohort) });
  });

  operations.write(
    'updateCohort',
    async (tx, { params, headers, body }) => {
      const cohort = await changeCohort(
        tx,
        params.id,
        body,
        checkETag('The cohort', headers, body),
      );
      return ok(serializeCohort(cohort), {
        headers: eTagHeader(cohort),
        ...withSchedules(tx, cohort.id),
      });
    },
    { method: 'PUT' },
  );

  operations.write('deleteCohort', async (tx, { params, headers, body }) => {
    const id = params.id.toLowerCase();
    await deleteEmptyCohort(tx, id, checkETag('The cohort', headers, body));
    return noContent(withSchedules(tx, id));
  });
}

function serializeCohort(cohort: StoredCohort): CohortResponse {
  const { id, name, description, color, purposeOfUse, settings, size } = cohort;
  return {
    id,
    eTag: eTagOf(cohort),
    name,
    description,
    color,
    purposeOfUse,
    settings,
    size,
  };
}

/** Routes for the patients of cohorts. */
export function addCohortPatientRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey'>,
): void {
  operations.read(
    'listCohortPatients',
    async (tx, { params, query, caller }) => {
      const cohort = orNotFound('Cohort', await findCohort(tx, params.id));
      const opened = openPage(
        deps,
        'listCohortPatients',
        { params, query },
        COHORT_PATIENT_ORDER,
      );
      const page = await listCohortPatients(tx, cohort.id, opened.request);
      return ok({
        patients: page.items.map((patient) =>
          serializePatient(patient, caller.account.dialect),
        ),
        meta: opened.meta({ ...page, total: cohort.size }),
      });
    },
  );

  operations.write('addPatientsToCohort', async (tx, { params, body }) => {
    const { patientIds } = body;
    const requested =
      patientIds && new Set(patientIds.map((id) => id.toLowerCase())).size;
    const added = await addToCohort(tx, params.id, body);
    const { cohort, skipped } = added;
    const response = {
      message: addedMessage(added, requested),
      cohort: serializeCohort(cohort),
      skipped,
    };
    return ok(response, { targetId: cohort.id });
  });

  operations.write('removePatientsFromCohort', async (tx, { params, body }) => {
    const { patientIds } = body;
    const requested =
      patientIds && new Set(patientIds.map((id) => id.toLowerCase())).size;
    const { cohort, removed } = await removeFromCohort(tx, params.id, body);
    const message = removedMessage(removed, requested);
    return ok(
      { message, cohort: serializeCohort(cohort) },
      { targetId: cohort.id },
    );
  });

  operations.write('addPatientToCohorts', async (tx, { params, body }) => {
    const patient = orNotFound('Patient', await lockPatient(tx, params.id));
    await assignToCohorts(tx, patient, body.cohortIds, 'cohortIds');
    const cohorts = await listCohorts(tx, { patientId: patient.id });
    return ok(
      { cohorts: cohorts.map(serializeCohort) },
      { patientId: patient.id },
    );
  });

  operations.read('getPatientCohorts', async (tx, { params }) => {
    const patient = orNotFound('Patient', await findPatient(tx, params.id));
    const cohorts = await listCohorts(tx, { patientId: patient.id });
    return ok({ cohorts: cohorts.map(serializeCohort) });
  });
}

/**
 * @param requested number of distinct patients in the request; undefined with
 *   `allPatients`
 */
function addedMessage(
  { added, skipped }: AddedPatients,
  requested: number | undefined,
): string {
  const others = (requested ?? added) - added;
  const remarks = [
    `${patients(added)} added to the cohort`,
    ...(others > 0
      ? [`${others} ${others === 1 ? 'was' : 'were'} already in it`]
      : []),
    ...(skipped && skipped.total > 0
      ? [`${skipped.total} skipped for lack of a treatment relationship`]
      : []),
  ];
  return remarks.join('; ');
}

function removedMessage(
  removed: number,
  requested: number | undefined,
): string {
  const others = (requested ?? removed) - removed;
  const remark =
    others > 0 ? `; ${others} ${others === 1 ? 'was' : 'were'} not in it` : '';
  return `${patients(removed)} removed from the cohort${remark}`;
}

const patients = (count: number): string =>
  `${count} patient${count === 1 ? '' : 's'}`;

/**
 * Maximum number of skipped patients listed in a response; there may be a
 * hundred thousand.
 */
const SKIPPED_IDS_MAX = 100;
/** Maximum number of errors listed in a response. */
const ERRORS_MAX = 100;

interface AddedPatients {
  cohort: StoredCohort;
  /** Number of patients who were not in the cohort before. */
  added: number;
  /** With `allPatients`: patients without a treatment relationship. */
  skipped?: { total: number; patientIds: string[] };
}

/**
 * Adds patients by id, all or none of them, or every patient of the account
 * whose consent allows it (docs/interface.md, Cohort). Throws NotFoundError for
 * an unknown cohort or patient, and InvalidRequestError for patients without
 * the treatment relationship that a treatment cohort requires.
 */
async function addToCohort(
  tx: AccountTx,
  cohortId: string,
  { patientIds }: CohortPatientsBody,
): Promise<AddedPatients> {
  await lockConsent(tx, 'shared');
  const { id, purposeOfUse } = await requireCohort(tx, cohortId);
  const treatedOnly = purposeOfUse === 'treatment';
  if (patientIds !== undefined) {
    await requirePatients(tx, patientIds, treatedOnly);
    const added = await addPatients(tx, id, patientIds);
    return { cohort: await readCohortAgain(tx, id), added };
  }
  const added = await addAllPatients(tx, id, treatedOnly);
  const skipped = treatedOnly
    ? await listWithoutTreatment(tx, SKIPPED_IDS_MAX)
    : { total: 0, patientIds: [] };
  return { cohort: await readCohortAgain(tx, id), added, skipped };
}

/**
 * Removes patients by id, or all of them; ids of patients not in the cohort are
 * ignored. Throws NotFoundError for the cohort.
 */
async function removeFromCohort(
  tx: AccountTx,
  cohortId: string,
  { patientIds }: CohortPatientsBody,
): Promise<{ cohort: StoredCohort; removed: number }> {
  await lockConsent(tx, 'shared');
  const { id } = await requireCohort(tx, cohortId);
  const removed = await removePatients(tx, id, patientIds ?? 'all');
  return { cohort: await readCohortAgain(tx, id), removed };
}

async function requirePatients(
  tx: AccountTx,
  patientIds: readonly string[],
  treatedOnly: boolean,
): Promise<void> {
  const known = await readConsent(tx, patientIds);
  const barred: FieldError[] = [];
  for (const [index, id] of patientIds.entries()) {
    const consent = known.get(id.toLowerCase());
    if (consent === undefined) throw new NotFoundError(`Patient ${id}`);
    if (
      treatedOnly &&
      !consent.treatmentRelationship &&
      barred.length < ERRORS_MAX
    ) {
      const message = `patient ${id} has no treatment relationship (status.treatmentRelationship is false), and this cohort is for treatment`;
      barred.push({ path: `patientIds[${index}]`, message });
    }
  }
  if (barred.length > 0) throw new InvalidRequestError(barred);
}
