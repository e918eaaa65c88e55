import { endpoint } from './endpoint.ts';
import { byRequestId, idempotency } from './endpoint-parts.ts';
import { querySweepSchema } from './query-sweep.ts';

const reference = 'Operations around E1–E14';

/** The queries that follow a bulk create; "bulk create status" shows where they stand. */
export const querySweepEndpoints = {
  pauseQuerySweep: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/bulk/:requestId/sweep/pause',
    reference,
    tag: 'bulk create',
    summary: 'Pause the queries after a bulk create',
    description:
      'No further query is started; those under way go on. 404 until the bulk create is completed, 409 when it is paused already or has ended.',
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
    description: 'Goes on with the patient whose turn it was. 409 when it is not paused.',
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
      'For good: the patients whose query has not been started are left out. Queries under way go on. 409 when it has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: querySweepSchema },
    errors: [404],
  }),
} as const;
