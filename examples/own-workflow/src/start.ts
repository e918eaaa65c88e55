import { opaqueId } from '@medical-data-exchange/library/data-converter';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { readConnection } from './connection.ts';
import {
  REFRESH_WORKFLOW,
  type RefreshSummary,
  refreshWorkflowId,
  TASK_QUEUE,
} from './refresh.ts';
import type { refreshBeforeAppointment } from './refresh-before-appointment.ts';
import { connectClient } from './temporal-client.ts';

/**
 * `npm run refresh -- <patientId> <appointment, ISO 8601> [hours before]`:
 * starts a refresh, once, and waits for its result.
 */
const [patientId, appointment = '', hours = '24'] = process.argv.slice(2);
const appointmentAt = new Date(appointment);
const hoursBefore = Number(hours);
if (
  patientId === undefined ||
  Number.isNaN(appointmentAt.valueOf()) ||
  !(hoursBefore >= 0)
) {
  console.error(
    'Usage: npm run refresh -- <patientId> <appointment, e.g. 2027-01-31T09:00:00-05:00> [hours before]',
  );
  process.exit(2);
}

const settings = await readConnection();
const temporal = await connectClient(settings);
const refreshId = opaqueId(
  settings.idHmacKey,
  'refresh',
  `${patientId} ${appointmentAt.toISOString()}`,
);
const workflowId = refreshWorkflowId(refreshId);
try {
  await temporal.workflow.start<typeof refreshBeforeAppointment>(
    REFRESH_WORKFLOW,
    {
      taskQueue: TASK_QUEUE,
      workflowId,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      args: [
        {
          refreshId,
          patientId,
          appointmentAt: appointmentAt.toISOString(),
          hoursBefore,
          sources: ['hie', 'pharmacy', 'lab'],
        },
      ],
    },
  );
} catch (error) {
  // This refresh was started before: wait for its result instead of starting it
  // twice.
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
}
console.error(
  `${workflowId} is running. Ctrl-C stops waiting; the workflow continues.`,
);
const summary: RefreshSummary = await temporal.workflow
  .getHandle(workflowId)
  .result();
console.log(JSON.stringify(summary, null, 2));
await temporal.connection.close();
