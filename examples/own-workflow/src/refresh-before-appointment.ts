import {
  API_KEY_ACCESS,
  ORCHESTRATION_METADATA_KEY,
} from '@medical-data-exchange/library/signals';
import { proxyEndpoints } from '@medical-data-exchange/library/workflows';
import {
  ApplicationFailure,
  condition,
  defineSignal,
  setHandler,
  sleep,
} from '@temporalio/workflow';
import {
  type RefreshInput,
  type RefreshSummary,
  SOURCE_ENDED,
} from './refresh.ts';

const sourceEnded = defineSignal(SOURCE_ENDED);
const { reads, writes } = proxyEndpoints({ scheduleToCloseTimeout: '1 hour' });

const HOUR_MS = 3_600_000;
const POLL_MS = 15 * 60_000;

/**
 * Queries the sources for a patient some hours before an appointment, so that
 * the record is up to date when it begins. This is a workflow because the
 * appointment may be weeks away and sources may answer late. One per patient
 * and appointment.
 */
export async function refreshBeforeAppointment(
  input: RefreshInput,
): Promise<RefreshSummary> {
  const appointmentMs = Date.parse(input.appointmentAt);
  let webhooks = 0;
  setHandler(sourceEnded, () => {
    webhooks += 1;
  });

  await sleepUntil(appointmentMs - input.hoursBefore * HOUR_MS);
  if (Date.now() >= appointmentMs)
    throw ApplicationFailure.nonRetryable('The appointment is over');

  const { requestId } = await startQuery(input);
  let query = await lookAt(requestId);
  while (isRunning(query) && Date.now() < appointmentMs) {
    const known = webhooks;
    const waitMs = Math.min(POLL_MS, appointmentMs - Date.now());
    await condition(() => webhooks > known, waitMs, {
      summary: 'Wait for a webhook, then read the query',
    });
    query = await lookAt(requestId);
  }

  const { resources } = await countRecord(input.patientId);
  return summaryOf(query, resources);
}

const startQuery = ({ patientId, sources, refreshId }: RefreshInput) =>
  writes('start-query', {
    summary: `Query ${sources.join(', ')}`,
  }).startNetworkQuery({
    exchange: API_KEY_ACCESS,
    query: { patientId },
    // The exchange returns the metadata in its webhooks, so the receiver can
    // find this workflow.
    body: { sources, metadata: { [ORCHESTRATION_METADATA_KEY]: refreshId } },
  });

const lookAt = (requestId: string) =>
  reads.getNetworkQuery({ exchange: API_KEY_ACCESS, params: { requestId } });

const countRecord = (patientId: string) =>
  reads.countConsolidated({
    exchange: API_KEY_ACCESS,
    params: { id: patientId },
    query: {},
  });

type Query = Awaited<ReturnType<typeof lookAt>>;

const isRunning = ({ status }: Query): boolean =>
  status === 'processing' || status === 'in-progress';

function summaryOf(
  query: Query,
  resources: Record<string, number>,
): RefreshSummary {
  const asked = query.sources.map(({ type, status }) => ({
    source: type,
    status,
  }));
  const refused = query.errors.map(({ source }) => ({
    source,
    status: 'refused',
  }));
  return {
    requestId: query.requestId,
    status: query.status,
    sources: [...asked, ...refused],
    resources,
  };
}

async function sleepUntil(timeMs: number): Promise<void> {
  const waitMs = timeMs - Date.now();
  if (waitMs > 0)
    await sleep(waitMs, {
      summary: 'Wait until it is time to query the sources',
    });
}
