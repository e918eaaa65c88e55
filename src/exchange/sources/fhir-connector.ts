import type { Dispatcher } from 'undici';
import type { SourceType } from '../../contract/primitives.ts';
import { cancelJob, type Job, jobOfHandle, pollJob } from './answer/async-job.ts';
import { askEverything } from './answer/everything.ts';
import { whatBecameOf } from './answer/missing.ts';
import { type ReceivedAnswers, walkPages } from './answer/pages.ts';
import { newPlan, planOfCursor, type Step } from './answer/plan.ts';
import { searchSteps } from './answer/search-by-type.ts';
import { Capabilities } from './capabilities.ts';
import type { Begin, BeginOptions, Poll, SourceConnector } from './connector.ts';
import { SourceHttp } from './http/source-http.ts';
import { findPatientIds } from './patient/match-patient.ts';
import { resolveSourceConfig, type SourceConfig } from './source-config.ts';
import type { SourceContext } from './source-context.ts';

export interface ConnectorDeps {
  /** Replaces the connector's own keep-alive pool. */
  dispatcher?: Dispatcher;
  clock?: { now(): number };
}

/**
 * A connector to any FHIR R4 server. It asks for the patient (`$match`, else POST `_search`), then for the data
 * (`$everything`, as a job where the source likes, else searches by type), and follows links only to the source's
 * configured origins. Keeps connections, an OAuth token and the server's capabilities; no state of any query.
 */
export function createFhirConnector(config: SourceConfig, deps: ConnectorDeps = {}): SourceConnector {
  const resolved = resolveSourceConfig(config);
  const now = () => (deps.clock ?? Date).now();
  const http = new SourceHttp(resolved, { dispatcher: deps.dispatcher, now });
  const context: SourceContext = { config: resolved, http, capabilities: new Capabilities(http, now), now };

  return {
    async begin(patient, options, signal) {
      const patientIds = await findPatientIds(context, patient, signal);
      if (patientIds.length === 0) return { kind: 'unknown-patient' };
      return kickOff(context, patientIds, options, signal);
    },
    async poll(handle, signal): Promise<Poll> {
      const state = await pollJob(context, jobOfHandle(handle), signal);
      // The same object while nothing changed, so that the caller need not record it again.
      if (state.kind === 'pending') {
        return { kind: 'pending', job: state.changed ?? handle, retryAfterMs: state.retryAfterMs };
      }
      return { kind: 'ready', pages: walkPages(context, state.plan, state.answers, signal) };
    },
    resume(cursor, signal) {
      return walkPages(context, planOfCursor(cursor), new Map(), signal);
    },
    whatBecameOf: (question, signal) => whatBecameOf(context, question, signal),
    async cancel(handle, signal) {
      await cancelJob(context, jobOfHandle(handle), signal);
    },
  };
}

/** One connector for each source. */
export function createConnectors(
  configs: Record<SourceType, SourceConfig>,
  deps: ConnectorDeps = {},
): Record<SourceType, SourceConnector> {
  return {
    hie: createFhirConnector(configs.hie, deps),
    pharmacy: createFhirConnector(configs.pharmacy, deps),
    lab: createFhirConnector(configs.lab, deps),
  };
}

/** Asks for the data of each record the source has of the person; one job each where the source makes jobs. */
async function kickOff(
  context: SourceContext,
  patientIds: string[],
  options: BeginOptions,
  signal: AbortSignal,
): Promise<Begin> {
  const jobs: Job['jobs'] = [];
  const steps: Step[] = [];
  const received: ReceivedAnswers = new Map();
  const delaysMs: number[] = [];
  const asked = {
    async: options.realtime !== true,
    ...(context.config.callbacks ? { callbackUrl: options.callbackUrl } : {}),
  };
  try {
    for (const patientId of patientIds) {
      const answer = await askEverything(context, patientId, asked, signal);
      switch (answer.kind) {
        case 'page':
          received.set(patientId, answer.answer);
          steps.push({ kind: 'everything', patientId });
          break;
        case 'accepted':
          jobs.push({ url: answer.statusUrl, isDone: false });
          if (answer.retryAfterMs !== undefined) delaysMs.push(answer.retryAfterMs);
          break;
        case 'missing':
          steps.push(...(await searchSteps(context, patientId)));
          break;
      }
    }
  } catch (error) {
    // The first jobs would run for nobody.
    if (jobs.length > 0) await abandon(context, { version: 1, patientIds, jobs, steps });
    throw error;
  }
  if (jobs.length === 0) {
    return { kind: 'ready', pages: walkPages(context, newPlan(patientIds, steps), received, signal) };
  }
  const retryAfterMs = delaysMs.length === 0 ? undefined : Math.max(...delaysMs);
  return { kind: 'accepted', job: { version: 1, patientIds, jobs, steps } satisfies Job, retryAfterMs };
}

const ABANDON_MS = 5_000;

async function abandon(context: SourceContext, job: Job): Promise<void> {
  // Courtesy only: the failure that brought us here is what counts, and the source ends its jobs by itself.
  await cancelJob(context, job, AbortSignal.timeout(ABANDON_MS)).catch(() => undefined);
}
