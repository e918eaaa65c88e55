import { v7 as uuidv7 } from 'uuid';
import { InvalidRequestError } from '../../errors.ts';
import { insertCohort, listCohorts } from '../../store/cohorts.ts';
import { listFacilities } from '../../store/facilities.ts';
import { cohortAnswer, facilityAnswer } from '../answers.ts';
import { eTagHeader } from '../etag.ts';
import { created, ok } from '../operation.ts';
import type { Operations } from '../operations.ts';

export function addCohortRoutes(operations: Operations): void {
  operations.read('listCohorts', async (tx) => {
    const cohorts = await listCohorts(tx);
    return ok({ cohorts: cohorts.map(cohortAnswer) });
  });

  operations.write('createCohort', async (tx, { body }) => {
    const cohort = await insertCohort(tx, { ...body, id: uuidv7() });
    if (cohort === undefined) {
      throw new InvalidRequestError([{ path: 'name', message: 'another cohort has this name' }]);
    }
    return created(cohortAnswer(cohort), { headers: eTagHeader(cohort), targetId: cohort.id });
  });
}

export function addFacilityRoutes(operations: Operations): void {
  operations.read('listFacilities', async (tx) => {
    const facilities = await listFacilities(tx);
    return ok({ facilities: facilities.map(facilityAnswer) });
  });
}
