import type { CohortResponse } from '../../../contract/cohorts.ts';
import { eTagOf } from '../../platform/http/etag.ts';
import type { StoredCohort } from './cohort-store.ts';

export function serializeCohort(cohort: StoredCohort): CohortResponse {
  const { id, name, description, color, purposeOfUse, settings, size } = cohort;
  return { id, eTag: eTagOf(cohort), name, description, color, purposeOfUse, settings, size };
}
