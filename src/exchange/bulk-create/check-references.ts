import type { RowError } from '../../shared/bulk-csv/row.ts';
import { holdCohorts, lookAtCohorts, type NamedCohort } from '../cohorts/cohort-store.ts';
import { findFacilityIds } from '../facilities/facility-store.ts';
import { isSame } from '../patients/rules/same-value.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { OvertakenError } from '../platform/database/retry.ts';
import type { PreparedRow } from './prepare-chunk.ts';

export interface References {
  /** Cohorts of these rows that are for treatment. */
  treatmentCohorts: ReadonlySet<string>;
  /** What is wrong with the ids of a row. */
  errorsOf(line: PreparedRow): RowError[];
  /** Makes the cohorts stay as they were found. Throws OvertakenError when one of them is not any more. */
  holdCohorts(): Promise<void>;
}

/** Whether the facilities and cohorts of the rows are there. */
export async function checkReferences(
  tx: AccountTx,
  defaultFacilityId: string,
  lines: readonly PreparedRow[],
): Promise<References> {
  const facilityIds = new Set([defaultFacilityId, ...lines.flatMap(({ facility }) => facility?.id ?? [])]);
  const knownFacilities = await findFacilityIds(tx, [...facilityIds]);
  const cohortIds = [...new Set(lines.flatMap(({ cohorts }) => cohorts.map(({ id }) => id)))];
  const cohorts = await lookAtCohorts(tx, cohortIds);
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
