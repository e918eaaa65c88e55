import { assignToCohorts } from '../patients/consent.ts';
import { findPatient, lockPatient } from '../patients/patient-store.ts';
import { serializePatient } from '../patients/serializers.ts';
import type { GatewayPlatform } from '../platform/http/deps.ts';
import { ok, orNotFound } from '../platform/http/operation.ts';
import type { Operations } from '../platform/http/operations.ts';
import { openPage } from '../platform/http/paging.ts';
import { type AddedPatients, addToCohort, removeFromCohort } from './change-members.ts';
import { findCohort, listCohorts } from './cohort-store.ts';
import { COHORT_PATIENT_ORDER, listCohortPatients } from './member-store.ts';
import { serializeCohort } from './serializers.ts';

/** Routes for the patients of cohorts. */
export function addCohortPatientRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey'>,
): void {
  operations.read('listCohortPatients', async (tx, { params, query, caller }) => {
    const cohort = orNotFound('Cohort', await findCohort(tx, params.id));
    const opened = openPage(deps, 'listCohortPatients', { params, query }, COHORT_PATIENT_ORDER);
    const page = await listCohortPatients(tx, cohort.id, opened.request);
    return ok({
      patients: page.items.map((patient) => serializePatient(patient, caller.account.dialect)),
      meta: opened.meta({ ...page, total: cohort.size }),
    });
  });

  operations.write('addPatientsToCohort', async (tx, { params, body }) => {
    const { patientIds } = body;
    const requested = patientIds && new Set(patientIds.map((id) => id.toLowerCase())).size;
    const added = await addToCohort(tx, params.id, body);
    const { cohort, skipped } = added;
    const response = { message: addedMessage(added, requested), cohort: serializeCohort(cohort), skipped };
    return ok(response, { targetId: cohort.id });
  });

  operations.write('removePatientsFromCohort', async (tx, { params, body }) => {
    const { patientIds } = body;
    const requested = patientIds && new Set(patientIds.map((id) => id.toLowerCase())).size;
    const { cohort, removed } = await removeFromCohort(tx, params.id, body);
    const message = removedMessage(removed, requested);
    return ok({ message, cohort: serializeCohort(cohort) }, { targetId: cohort.id });
  });

  operations.write('addPatientToCohorts', async (tx, { params, body }) => {
    const patient = orNotFound('Patient', await lockPatient(tx, params.id));
    await assignToCohorts(tx, patient, body.cohortIds, 'cohortIds');
    const cohorts = await listCohorts(tx, { patientId: patient.id });
    return ok({ cohorts: cohorts.map(serializeCohort) }, { patientId: patient.id });
  });

  operations.read('getPatientCohorts', async (tx, { params }) => {
    const patient = orNotFound('Patient', await findPatient(tx, params.id));
    const cohorts = await listCohorts(tx, { patientId: patient.id });
    return ok({ cohorts: cohorts.map(serializeCohort) });
  });
}

/** @param requested number of distinct patients in the request; undefined with `allPatients` */
function addedMessage({ added, skipped }: AddedPatients, requested: number | undefined): string {
  const others = (requested ?? added) - added;
  const remarks = [
    `${patients(added)} added to the cohort`,
    ...(others > 0 ? [`${others} ${others === 1 ? 'was' : 'were'} already in it`] : []),
    ...(skipped && skipped.total > 0
      ? [`${skipped.total} skipped for lack of a treatment relationship`]
      : []),
  ];
  return remarks.join('; ');
}

function removedMessage(removed: number, requested: number | undefined): string {
  const others = (requested ?? removed) - removed;
  const remark = others > 0 ? `; ${others} ${others === 1 ? 'was' : 'were'} not in it` : '';
  return `${patients(removed)} removed from the cohort${remark}`;
}

const patients = (count: number): string => `${count} patient${count === 1 ? '' : 's'}`;
