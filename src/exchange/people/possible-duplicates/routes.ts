import type { AccountTx } from '../../platform/database/database.ts';
import { orNotFound } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import { findPatient } from '../patients/patient-store.ts';
import { serializePatient } from '../patients/serializers.ts';
import {
  DUPLICATE_ORDER,
  decideDuplicate,
  findDuplicate,
  listDuplicates,
  serializeDuplicate,
} from './duplicate-store.ts';

const MESSAGES = {
  accepted:
    'The two patients are marked as one person. Nothing was merged: both patients and their records stay separate',
  refused:
    'The two patients are marked as two people. The pair is not reported again',
};

/** The review list (docs/interface.md, "Possible duplicates"). */
export function addPossibleDuplicateRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey'>,
): void {
  operations.read('listPossibleDuplicates', async (tx, { query }) => {
    const opened = openPage(
      deps,
      'listPossibleDuplicates',
      { query },
      DUPLICATE_ORDER,
    );
    const page = await listDuplicates(tx, query, opened.request);
    return ok({
      possibleDuplicates: page.items.map(serializeDuplicate),
      meta: opened.meta(page),
    });
  });

  operations.read('getPossibleDuplicate', async (tx, { params, caller }) => {
    const pair = orNotFound(
      'Possible duplicate',
      await findDuplicate(tx, params.id),
    );
    const shownPatient = async (id: string) =>
      serializePatient(
        orNotFound('Patient', await findPatient(tx, id)),
        caller.account.dialect,
      );
    const first = await shownPatient(pair.patient_id);
    const second = await shownPatient(pair.other_patient_id);
    return ok(
      { ...serializeDuplicate(pair), patients: [first, second] },
      {
        patientId: pair.patient_id,
        otherPatientIds: [pair.other_patient_id],
      },
    );
  });

  const decide = async (
    tx: AccountTx,
    id: string,
    status: 'accepted' | 'refused',
  ) => {
    const pair = orNotFound(
      'Possible duplicate',
      await decideDuplicate(tx, id, status),
    );
    return ok(
      { ...serializeDuplicate(pair), message: MESSAGES[status] },
      { patientId: pair.patient_id, targetId: pair.id },
    );
  };
  operations.write('acceptPossibleDuplicate', (tx, { params }) =>
    decide(tx, params.id, 'accepted'),
  );
  operations.write('refusePossibleDuplicate', (tx, { params }) =>
    decide(tx, params.id, 'refused'),
  );
}
