import { NotFoundError } from '../../errors.ts';
import { assignToCohorts } from '../../patients/consent.ts';
import { createOrMatchPatient, replacePatient } from '../../patients/save-patient.ts';
import { listCohorts } from '../../store/cohorts.ts';
import { findPatient, lockPatient } from '../../store/patients.ts';
import { cohortAnswer, patientAnswer } from '../answers.ts';
import type { GatewayDeps } from '../deps.ts';
import { checkETag, eTagHeader } from '../etag.ts';
import { created, ok } from '../operation.ts';
import type { Operations } from '../operations.ts';
import { startQuery } from './start-query.ts';

export function addPatientRoutes(
  operations: Operations,
  deps: Pick<GatewayDeps, 'idHmacKey' | 'networkQueries'>,
): void {
  operations.write('createPatient', async (tx, { query, body, caller }) => {
    const context = { tx, hmacKey: deps.idHmacKey };
    const { patient, isNew } = await createOrMatchPatient(context, body, query.facilityId);
    await assignToCohorts(tx, patient, body.cohorts ?? [], 'cohorts');
    const started =
      body.networkQuery &&
      (await startQuery(tx, deps, {
        caller,
        patient,
        request: body.networkQuery,
        purposeOfUse: 'treatment',
      }));
    const answer = patientAnswer(patient, caller.account.dialect, started?.answer);
    return (isNew ? created : ok)(answer, {
      headers: eTagHeader(patient),
      patientId: patient.id,
      targetId: started?.answer.requestId,
      afterCommit: started?.launch,
    });
  });

  operations.read('getPatient', async (tx, { params, caller }) => {
    const patient = await findPatient(tx, params.id);
    if (patient === undefined) throw new NotFoundError('Patient');
    return ok(patientAnswer(patient, caller.account.dialect), { headers: eTagHeader(patient) });
  });

  operations.write('updatePatient', async (tx, { params, query, headers, body, caller }) => {
    const patient = await replacePatient(
      { tx, hmacKey: deps.idHmacKey },
      params.id,
      body,
      query.facilityId,
      (known) => checkETag('The patient', known, headers['if-match'], body.eTag),
    );
    return ok(patientAnswer(patient, caller.account.dialect), {
      headers: eTagHeader(patient),
      patientId: patient.id,
    });
  });

  operations.write('addPatientToCohorts', async (tx, { params, body }) => {
    const patient = await lockPatient(tx, params.id);
    if (patient === undefined) throw new NotFoundError('Patient');
    await assignToCohorts(tx, patient, body.cohortIds, 'cohortIds');
    const cohorts = await listCohorts(tx, { patientId: patient.id });
    return ok({ cohorts: cohorts.map(cohortAnswer) }, { patientId: patient.id });
  });
}
