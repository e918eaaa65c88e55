import type {
  NetworkQueryRequest,
  NetworkQueryStatus,
} from '../../../contract/network-query.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { orNotFound } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { checkETag, eTagHeader } from '../../platform/http/etag.ts';
import { created, ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import { assignToCohorts } from '../cohorts/change-cohort.ts';
import { listFacilities } from '../facilities/facility-store.ts';
import { serializeFacility } from '../facilities/serializers.ts';
import {
  findNewestByExternalId,
  findPatient,
  listPatients,
  PATIENT_ORDER,
  type StoredPatient,
} from '../patients/patient-store.ts';
import { serializePatient } from '../patients/serializers.ts';
import { compareNow } from '../possible-duplicates/comparing.ts';
import { namedDuplicates } from '../possible-duplicates/duplicate-store.ts';
import {
  changeStatus,
  createOrMatchPatient,
  findMatch,
  replacePatient,
  setPatientFacilities,
} from './save-patient.ts';

/** Starts the query that E4 may ask for. */
interface QueryStarter {
  startQuery(
    tx: AccountTx,
    input: {
      caller: Caller;
      patient: StoredPatient;
      request: NetworkQueryRequest;
      purposeOfUse: 'treatment';
    },
  ): Promise<{ answer: NetworkQueryStatus; launch: () => void }>;
}

export function addPatientRoutes(
  operations: Operations,
  deps: Pick<
    GatewayPlatform,
    'idHmacKey' | 'publicBaseUrl' | 'linkSigningKey'
  > & {
    networkQueries: QueryStarter;
  },
): void {
  operations.write('createPatient', async (tx, { query, body, caller }) => {
    const context = { tx, hmacKey: deps.idHmacKey };
    const {
      patient,
      isNew,
      replaced = {},
    } = await createOrMatchPatient(context, body, query.facilityId);
    await assignToCohorts(tx, patient, body.cohorts ?? [], 'cohorts');
    const started =
      body.networkQuery &&
      (await deps.networkQueries.startQuery(tx, {
        caller,
        patient,
        request: body.networkQuery,
        purposeOfUse: 'treatment',
      }));
    const duplicates = await compareNow(tx, {
      ...patient,
      accountId: tx.accountId,
    });
    const response = {
      ...serializePatient(patient, caller.account.dialect, started?.answer),
      ...(Object.keys(replaced).length === 0 ? {} : { replaced }),
      ...(duplicates.length === 0
        ? {}
        : { possibleDuplicates: namedDuplicates(duplicates, patient.id) }),
    };
    return (isNew ? created : ok)(response, {
      headers: eTagHeader(patient),
      patientId: patient.id,
      targetId: started?.answer.requestId,
      afterCommit: started?.launch,
    });
  });

  operations.read('getPatient', async (tx, { params, caller }) => {
    const patient = orNotFound('Patient', await findPatient(tx, params.id));
    return ok(serializePatient(patient, caller.account.dialect), {
      headers: eTagHeader(patient),
    });
  });

  operations.write(
    'updatePatient',
    async (tx, { params, query, headers, body, caller }) => {
      const patient = await replacePatient(
        { tx, hmacKey: deps.idHmacKey },
        params.id,
        body,
        query.facilityId,
        checkETag('The patient', headers, body),
      );
      return ok(
        serializePatient(patient, caller.account.dialect),
        changed(patient),
      );
    },
  );

  operations.read('listPatients', async (tx, { query, caller }) => {
    const { facilityId, externalId, filters = '' } = query;
    const words = filters.split(/\s+/u).filter((word) => word !== '');
    const opened = openPage(deps, 'listPatients', { query }, PATIENT_ORDER);
    const page = await listPatients(
      tx,
      { facilityId, externalId, words },
      opened.request,
    );
    return ok({
      patients: page.items.map((patient) =>
        serializePatient(patient, caller.account.dialect),
      ),
      meta: opened.meta(page),
    });
  });

  // Registered as a write because, being a POST, it accepts an Idempotency-Key.
  operations.write('matchPatient', async (tx, { body, caller }) => {
    const patient = orNotFound(
      'Patient',
      await findMatch({ tx, hmacKey: deps.idHmacKey }, body),
    );
    return ok(
      serializePatient(patient, caller.account.dialect),
      changed(patient),
    );
  });

  operations.read('getPatientByExternalId', async (tx, { query, caller }) => {
    const patient = orNotFound(
      'Patient',
      await findNewestByExternalId(tx, query.externalId),
    );
    return ok(serializePatient(patient, caller.account.dialect), {
      headers: eTagHeader(patient),
    });
  });

  operations.write(
    'setHieOptOut',
    async (tx, { params, query, headers, body }) => {
      const { hieOptOut } = query;
      const patient = await changeStatus(
        tx,
        params.id,
        { hieOptOut },
        checkETag('The patient', headers, body),
      );
      const message = hieOptOut
        ? 'The patient is opted out; the hie source and document queries exclude the patient'
        : 'The patient is opted in; the hie source and document queries may include the patient';
      return ok({ id: patient.id, hieOptOut, message }, changed(patient));
    },
  );

  operations.write(
    'setTreatmentRelationship',
    async (tx, { params, query, headers, body }) => {
      const { treatmentRelationship } = query;
      const check = checkETag('The patient', headers, body);
      const patient = await changeStatus(
        tx,
        params.id,
        { treatmentRelationship },
        check,
      );
      const message = treatmentRelationship
        ? 'There is a treatment relationship; the patient can be added to treatment cohorts'
        : 'There is no treatment relationship; the patient was removed from all treatment cohorts';
      return ok(
        { id: patient.id, treatmentRelationship, message },
        changed(patient),
      );
    },
  );

  operations.read('getPatientFacilities', async (tx, { params }) => {
    const { facilityIds } = orNotFound(
      'Patient',
      await findPatient(tx, params.id),
    );
    const facilities = await listFacilities(tx, { ids: facilityIds });
    return ok({ facilities: facilities.map(serializeFacility) });
  });

  operations.write(
    'setPatientFacilities',
    async (tx, { params, headers, body }) => {
      const check = checkETag('The patient', headers, body);
      const patient = await setPatientFacilities(
        tx,
        params.id,
        body.facilityIds,
        check,
      );
      const facilities = await listFacilities(tx, { ids: patient.facilityIds });
      return ok(
        { facilities: facilities.map(serializeFacility) },
        { patientId: patient.id },
      );
    },
  );
}

const changed = (patient: StoredPatient) => ({
  headers: eTagHeader(patient),
  patientId: patient.id,
});
