import { endpoint } from './endpoint.ts';
import { byRequestId, idempotency } from './endpoint-parts.ts';
import { querySweepSchema } from './query-sweep.ts';

const reference = 'Operations around E1–E14';

/** Control of the post-import queries of a bulk create; "bulk create status" reports their progress. */
export const querySweepEndpoints = {
  pauseQuerySweep: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/sweep/pause',
    reference,
    tag: 'bulk create',
    summary: 'Pause the queries after a bulk create',
    description:
      'No further query is started; queries already started continue. 404 until the bulk create is completed. 409 if the sweep is already paused or has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: querySweepSchema },
    errors: [404],
  }),
  resumeQuerySweep: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/sweep/resume',
    reference,
    tag: 'bulk create',
    summary: 'Resume the queries after a bulk create',
    description: 'Continues with the next patient. 409 if the sweep is not paused.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: querySweepSchema },
    errors: [404],
  }),
  cancelQuerySweep: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/sweep/cancel',
    reference,
    tag: 'bulk create',
    summary: 'Cancel the queries after a bulk create',
    description:
      'Cannot be undone: no query is started for the remaining patients. Queries already started continue. 409 if the sweep has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: querySweepSchema },
    errors: [404],
  }),
} as const;
