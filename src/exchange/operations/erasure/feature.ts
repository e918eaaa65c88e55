import type { Erasures } from '../../platform/erasure/erasures.ts';
import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import { checkETag } from '../../platform/http/etag.ts';
import { noContent } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { deletePatient } from './delete-patient.ts';

/**
 * The deletion of a patient, with all that any district has collected about the
 * patient.
 */
export const erasureFeature = {
  open: ({ erasures }: { erasures: Erasures }): OpenFeature => ({
    recoveries: [erasures.recovery],
    drain: erasures.drain,
  }),
  routes: (
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addErasureRoutes>,
  ) => addErasureRoutes(operations, deps),
} satisfies Feature;

function addErasureRoutes(
  operations: Operations,
  deps: { erasures: Pick<Erasures, 'start'> },
): void {
  operations.write('deletePatient', async (tx, { params, headers, body }) => {
    const patientId = await deletePatient(
      tx,
      params.id,
      checkETag('The patient', headers, body),
    );
    return noContent({ patientId, afterCommit: () => deps.erasures.start() });
  });
}
