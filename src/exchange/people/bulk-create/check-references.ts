import type { RowError } from '../../../shared/bulk-csv/row.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { OvertakenError } from '../../platform/database/retry.ts';
import { findCohorts, holdCohorts, type NamedCohort } from '../cohorts/cohort-store.ts';
import { findFacilityIds } from '../facilities/facility-store.ts';
import { isSame } from '../patients/rules/same-value.ts';
import type { PreparedRow } from './prepare-chunk.ts';

export interface References {
  /** Cohorts of these rows that are for treatment. */
  treatmentCohorts: ReadonlySet<string>;
  /** Errors for the facility and cohort ids of a row that do not exist. */
  errorsOf(line: PreparedRow): RowError[];
  /** Locks the cohorts until the transaction ends. Throws OvertakenError when one was changed or deleted meanwhile. */
  holdCohorts(): Promise<void>;
}

/** Looks up the facilities and cohorts that the rows name, without locking them. */
export async function checkReferences(
  tx: AccountTx,
  defaultFacilityId: string,
  lines: readonly PreparedRow[],
): Promise<References> {
  const facilityIds = new Set([defaultFacilityId, ...lines.flatMap(({ facility }) => facility?.id ?? [])]);
  const knownFacilities = await findFacilityIds(tx, [...facilityIds]);
  const cohortIds = [...new Set(lines.flatMap(({ cohorts }) => cohorts.map(({ id }) => id)))];
  const cohorts = await findCohorts(tx, cohortIds);
  const knownCohorts = new Set(cohorts.map(({ id }) => id));
  const treatment = cohorts.filter(({ purposeOfUse }) => purposeOfUse === 'treatment');
  return {
    treatmentCohorts: new Set(treatment.map(({ id }) => id)),
    errorsOf(line) {
      const { column, id } = line.facility ?? { column: 'facilityId', id: defaultFacilityId };
      const noFacility = knownFacilities.has(id) ? [] : [{ column, message: `there is no facility ${id}` }];
      const noCohorts = line.cohorts.filter((cohort) => !knownCohorts.has(cohort.id));
      return [
        ...noFacility,
        ...noCohorts.map((cohort) => ({ column: cohort.column, message: `there is no cohort ${cohort.id}` })),
      ];
    },
    async holdCohorts() {
      const held = await holdCohorts(tx, cohortIds);
      if (!isSame(held.map(purposeOf), cohorts.map(purposeOf)))
        throw new OvertakenError('a cohort of these rows was changed meanwhile');
    },
  };
}

const purposeOf = ({ id, purposeOfUse }: NamedCohort) => ({ id, purposeOfUse });
