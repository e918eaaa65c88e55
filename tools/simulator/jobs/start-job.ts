import { createHash, randomUUID } from 'node:crypto';
import type { Answer } from '../answer.ts';
import type { Fault } from '../faults/rules.ts';
import type { SourceSettings } from '../settings.ts';
import type { Call } from '../source.ts';
import type { Job } from './job.ts';

const DOUBLED_AFTER_MS = 250;

/** Accepts an asynchronous `$everything`. The faults of the job and of its callback are decided here, once. */
export function startJob(
  call: Call,
  request: Pick<Job, 'sample' | 'patientId' | 'types' | 'count' | 'since' | 'requestUrl'>,
): Answer {
  const { source } = call;
  const occasion = { source: source.name, sample: request.sample };
  const jobFault = source.faults.take('job', { ...occasion, operation: 'job' });
  const callbackUrl = source.settings().callback ? header(call, 'x-callback-url') : undefined;
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
    ...(jobFault?.type === 'job-fails' ? { failureStatus: jobFault.status } : {}),
    ...(callbackUrl ? { callback: { url: callbackUrl, delaysMs: callbackDelaysMs(callbackFault) } } : {}),
  });
  return { status: 202, headers: { 'content-location': `${call.baseUrl}/$jobs/${id}` } };
}

function outcome(fault: Fault | undefined): Job['outcome'] {
  if (fault?.type === 'job-fails') return 'fails';
  return fault?.type === 'job-never-ends' ? 'never-ends' : 'completes';
}

function callbackDelaysMs(fault: Fault | undefined): number[] {
  if (fault?.type === 'no-callback') return [];
  if (fault?.type === 'late-callback') return [fault.delayMs];
  return fault?.type === 'doubled-callback' ? [0, DOUBLED_AFTER_MS] : [0];
}

function durationMs(jobId: string, { min, max }: SourceSettings['jobLatencyMs']): number {
  const spread = Math.max(0, max - min) + 1;
  return min + (createHash('sha256').update(jobId).digest().readUInt32BE(0) % spread);
}

function header(call: Call, name: string): string | undefined {
  const value = call.request.headers[name];
  return typeof value === 'string' ? value : undefined;
}
