import { createHash, randomUUID } from 'node:crypto';
import type { Fault } from '../../../src/local-stack/simulator/faults.ts';
import type { SimulatedJob } from '../jobs/jobs.ts';
import {
  firstPage,
  nextPage,
  patientOfPage,
  requestedSince,
} from '../paging.ts';
import { refusalResponse, type SimulatedResponse } from '../response.ts';
import type { SourceSettings } from '../settings.ts';
import type { SourceCall } from '../source.ts';
import { pathPart, type Route, requestedCount } from './route.ts';

export const everythingRoutes: Route[] = [
  {
    method: 'GET',
    path: '/Patient/:id/$everything',
    operation: 'everything',
    sample: (call) => call.source.data.sampleOf(pathPart(call, 'id')),
    answer: everything,
  },
  {
    method: 'GET',
    path: '',
    operation: 'page',
    sample: (call) => call.source.data.sampleOf(patientOfPage(call) ?? ''),
    answer: nextPage,
  },
];

function everything(call: SourceCall): SimulatedResponse {
  const settings = call.source.settings();
  if (!settings.everything || settings.documentNetwork)
    return refusalResponse(
      404,
      'not-supported',
      'Patient/$everything is not supported.',
    );
  const patientId = pathPart(call, 'id');
  const sample = call.source.data.sampleOf(patientId);
  if (!sample)
    return refusalResponse(
      404,
      'not-found',
      'There is no Patient with this id.',
    );

  const types = settings.honoursTypeFilter ? typesOf(call) : undefined;
  const count = requestedCount(call);
  const since = requestedSince(call);
  if (!settings.async || !prefersAsync(call))
    return firstPage(call, { patientId, types, since }, count);
  const requestUrl = `${call.baseUrl}/Patient/${patientId}/$everything`;
  return startJob(call, { sample, patientId, types, count, since, requestUrl });
}

function typesOf(call: SourceCall): string[] | undefined {
  const types = call.params
    .getAll('_type')
    .flatMap((value) => value.split(','));
  return types.length > 0 ? types : undefined;
}

function prefersAsync(call: SourceCall): boolean {
  const { prefer } = call.request.headers;
  return (
    typeof prefer === 'string' &&
    prefer.split(/[,;]/).some((part) => part.trim() === 'respond-async')
  );
}

const DOUBLED_AFTER_MS = 250;

/**
 * Accepts an asynchronous `$everything`. The faults of the job and of its
 * callback are decided here, once.
 */
function startJob(
  call: SourceCall,
  request: Pick<
    SimulatedJob,
    'sample' | 'patientId' | 'types' | 'count' | 'since' | 'requestUrl'
  >,
): SimulatedResponse {
  const { source } = call;
  const occasion = { source: source.name, sample: request.sample };
  const jobFault = source.faults.take('job', { ...occasion, operation: 'job' });
  const callbackUrl = source.settings().callback
    ? header(call, 'x-callback-url')
    : undefined;
  const callbackFault = callbackUrl
    ? source.faults.take('callback', { ...occasion, operation: 'callback' })
    : undefined;
  for (const fault of [jobFault, callbackFault]) if (fault) call.note(fault);

  const id = randomUUID();
  const createdAtMs = Date.now();
  source.jobs.start({
    ...request,
    id,
    source: source.name,
    createdAtMs,
    readyAtMs: createdAtMs + durationMs(id, source.settings().jobLatencyMs),
    outcome: outcome(jobFault),
    ...(jobFault?.type === 'job-fails'
      ? { failureStatus: jobFault.status }
      : {}),
    ...(callbackUrl
      ? {
          callback: {
            url: callbackUrl,
            delaysMs: callbackDelaysMs(callbackFault),
          },
        }
      : {}),
  });
  return {
    status: 202,
    headers: { 'content-location': `${call.baseUrl}/$jobs/${id}` },
  };
}

function outcome(fault: Fault | undefined): SimulatedJob['outcome'] {
  if (fault?.type === 'job-fails') return 'fails';
  return fault?.type === 'job-never-ends' ? 'never-ends' : 'completes';
}

function callbackDelaysMs(fault: Fault | undefined): number[] {
  if (fault?.type === 'no-callback') return [];
  if (fault?.type === 'late-callback') return [fault.delayMs];
  return fault?.type === 'doubled-callback' ? [0, DOUBLED_AFTER_MS] : [0];
}

function durationMs(
  jobId: string,
  { min, max }: SourceSettings['jobLatencyMs'],
): number {
  const spread = Math.max(0, max - min) + 1;
  return (
    min + (createHash('sha256').update(jobId).digest().readUInt32BE(0) % spread)
  );
}

function header(call: SourceCall, name: string): string | undefined {
  const value = call.request.headers[name];
  return typeof value === 'string' ? value : undefined;
}
