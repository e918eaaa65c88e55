import type { Erasures } from '../../platform/erasure/erasures.ts';
import { checkETag } from '../../platform/http/etag.ts';
import { noContent } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { deletePatient } from './delete-patient.ts';

export function addErasureRoutes(operations: Operations, deps: { erasures: Pick<Erasures, 'start'> }): void {
  operations.write('deletePatient', async (tx, { params, headers, body }) => {
    const patientId = await deletePatient(tx, params.id, (known) =>
      checkETag('The patient', known, headers['if-match'], body.eTag),
    );
    return noContent({ patientId, afterCommit: () => deps.erasures.start() });
  });
}
