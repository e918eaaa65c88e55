import { v7 as uuidv7 } from 'uuid';
import type { CohortResponse } from '../../../contract/cohorts.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { checkETag, eTagHeader, eTagOf } from '../../platform/http/etag.ts';
import { created, noContent, ok, orNotFound } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import type { CohortSchedules } from '../monitoring/cohort-schedules.ts';
import { changeCohort, deleteEmptyCohort, nameTaken } from './change-cohort.ts';
import { findCohort, insertCohort, listCohorts, type StoredCohort } from './cohort-store.ts';

/** Routes for cohorts. After each change has committed, the cohort's monitoring schedules are updated. */
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
    return created(serializeCohort(cohort), { headers: eTagHeader(cohort), ...withSchedules(tx, cohort.id) });
  });

  operations.read('getCohort', async (tx, { params }) => {
    const cohort = orNotFound('Cohort', await findCohort(tx, params.id));
    return ok(serializeCohort(cohort), { headers: eTagHeader(cohort) });
  });

  operations.write(
    'updateCohort',
    async (tx, { params, headers, body }) => {
      const cohort = await changeCohort(tx, params.id, body, (known) =>
        checkETag('The cohort', known, headers['if-match'], body.eTag),
      );
      return ok(serializeCohort(cohort), { headers: eTagHeader(cohort), ...withSchedules(tx, cohort.id) });
    },
    { method: 'PUT' },
  );

  operations.write('deleteCohort', async (tx, { params, headers, body }) => {
    const id = params.id.toLowerCase();
    await deleteEmptyCohort(tx, id, (known) =>
      checkETag('The cohort', known, headers['if-match'], body.eTag),
    );
    return noContent(withSchedules(tx, id));
  });
}

export function serializeCohort(cohort: StoredCohort): CohortResponse {
  const { id, name, description, color, purposeOfUse, settings, size } = cohort;
  return { id, eTag: eTagOf(cohort), name, description, color, purposeOfUse, settings, size };
}
