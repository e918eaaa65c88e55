import { z } from 'zod';
import { type JobHandle, SourceFailure } from '../connector.ts';
import { type ErrorAnswer, failureOfStatus } from '../http/failures.ts';
import { FHIR_JSON, type JsonAnswer, readError } from '../http/source-http.ts';
import type { SourceContext } from '../source-context.ts';
import { newPlan, type Plan, stepsSchema } from './plan.ts';

const JOB_STATUS = 'the status of its job';

const jobSchema = z.object({
  version: z.literal(1),
  patientIds: z.array(z.string()).min(1),
  /** One job for each record that the source has of the person. */
  jobs: z.array(z.object({ url: z.url(), isDone: z.boolean() })).min(1),
  /** Records that the source answers without a job: fetched when the jobs are done. */
  steps: stepsSchema,
});

export type Job = z.infer<typeof jobSchema>;

export function jobOfHandle(handle: JobHandle): Job {
  const job = jobSchema.safeParse(handle);
  if (!job.success) throw new SourceFailure('refused', 'the recorded job is not one of this connector');
  return job.data;
}

export type JobState =
  /** `changed`: the job as it is to be recorded now; undefined when it is as it was. */
  | { kind: 'pending'; changed?: Job; retryAfterMs?: number }
  /** `answers`: what the status addresses just said, so that nothing is fetched twice. */
  | { kind: 'ready'; plan: Plan; answers: Map<string, JsonAnswer> };

/** Asks each unfinished job for its state; ready when all are. */
export async function pollJob(context: SourceContext, job: Job, signal: AbortSignal): Promise<JobState> {
  const answers = new Map<string, JsonAnswer>();
  const delaysMs: number[] = [];
  const jobs = [];
  for (const part of job.jobs) {
    const state = part.isDone ? undefined : await askStatus(context, part.url, signal);
    if (state?.retryAfterMs !== undefined) delaysMs.push(state.retryAfterMs);
    if (state?.answer !== undefined) answers.set(part.url, state.answer);
    jobs.push({ url: part.url, isDone: part.isDone || state?.answer !== undefined });
  }
  if (jobs.every(({ isDone }) => isDone)) {
    const steps = [...jobs.map(({ url }) => ({ kind: 'job' as const, url })), ...job.steps];
    return { kind: 'ready', plan: newPlan(job.patientIds, steps), answers };
  }
  const retryAfterMs = delaysMs.length === 0 ? undefined : Math.max(...delaysMs);
  return { kind: 'pending', ...(answers.size > 0 ? { changed: { ...job, jobs } } : {}), retryAfterMs };
}

/** The job's answer, or how long it wants to be left alone. */
async function askStatus(
  { config, http }: SourceContext,
  url: string,
  signal: AbortSignal,
): Promise<{ answer?: JsonAnswer; retryAfterMs?: number }> {
  const answer = await http.send({
    method: 'GET',
    url: new URL(url),
    label: JOB_STATUS,
    accept: FHIR_JSON,
    signal,
  });
  if (answer.status === 200) return { answer: await http.readJson(answer, JOB_STATUS) };
  const { retryAfterMs } = answer;
  if (answer.status === 202 || isAskedToWait(answer.status, retryAfterMs)) {
    await answer.discard();
    return { retryAfterMs };
  }
  throw jobFailure(config.source, await readError(answer));
}

/** The bulk data pattern answers hasty pollers so; the job itself is well. */
function isAskedToWait(status: number, retryAfterMs: number | undefined): boolean {
  return status === 429 || (status === 503 && retryAfterMs !== undefined);
}

/** At a status address an error of the FHIR server is the job's; one without OperationOutcome is the network's. */
function jobFailure(source: SourceContext['config']['source'], error: ErrorAnswer): SourceFailure {
  const failure = failureOfStatus(source, JOB_STATUS, error);
  const { status, issueCode } = error;
  const isAccess = status === 401 || status === 403;
  const isNetwork = status === 408 || (status >= 500 && error.isOutcome !== true);
  if (isAccess || isNetwork || status < 400) return failure;
  const reason =
    status === 404 || status === 410 ? 'no longer knows the job it accepted' : 'failed the job it accepted';
  const code = issueCode === undefined ? '' : `, ${issueCode}`;
  return new SourceFailure('job-failed', `${source} ${reason} (${status}${code})`, { httpStatus: status });
}

/** DELETE of the status address; a source that no longer knows the job, or cannot forget it, is fine. */
export async function cancelJob(
  { config, http }: SourceContext,
  job: Job,
  signal: AbortSignal,
): Promise<void> {
  for (const { url } of job.jobs) {
    const label = 'the cancellation of its job';
    const answer = await http.send({ method: 'DELETE', url: new URL(url), label, signal });
    const isFine = answer.status < 300 || [404, 405, 409, 410, 501].includes(answer.status);
    if (!isFine) throw failureOfStatus(config.source, label, await readError(answer));
    await answer.discard();
  }
}
