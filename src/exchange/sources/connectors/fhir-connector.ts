import type { Dispatcher } from 'undici';
import { Capabilities, type SourceContext } from './capabilities.ts';
import {
  EVERYTHING,
  type HowToAsk,
  howToAsk,
  searchStepsFor,
} from './collect/ask-changes.ts';
import {
  cancelJob,
  jobOfHandle,
  pollJob,
  type SourceJob,
} from './collect/async-job.ts';
import { checkMissing, countResources } from './collect/check-missing.ts';
import { documentSearchesBesides } from './collect/documents.ts';
import { askEverything } from './collect/everything.ts';
import { type ReceivedResponses, walkPages } from './collect/pages.ts';
import { newPlan, planOfCursor, type Step } from './collect/plan.ts';
import { smallerCount } from './collect/smaller-pages.ts';
import {
  type Begin,
  type BeginOptions,
  ChangesNotHonoured,
  type JobHandle,
  type Poll,
  type SourceConnector,
} from './connector.ts';
import { ResponseTooLargeError } from './http/failures.ts';
import { type HttpDeps, SourceHttp } from './http/source-http.ts';
import type { CountGatewayRequest } from './ihe/gateway.ts';
import type { MessageSigner } from './ihe/sign-message.ts';
import { findSourcePatients } from './patient/match-patient.ts';
import {
  connectionFingerprint,
  resolveSourceConfig,
  type SourceConfig,
} from './source-config.ts';

export interface ConnectorDeps
  extends Pick<HttpDeps, 'signer' | 'sharedTokens' | 'callBudgets'> {
  /** Replaces the connector's own keep-alive pool. */
  dispatcher?: Dispatcher;
  clock?: { now(): number };
  /** Of a connection that speaks IHE. */
  countRequest?: CountGatewayRequest;
  /** Of a network's gateways, which share it. Default: one of its own. */
  messageSigner?: MessageSigner;
}

/**
 * A connector to any FHIR R4 server. It finds the patient (`$match`, otherwise
 * POST `_search`), then requests the data (`$everything`, possibly as an
 * asynchronous job; otherwise searches by type). It follows links only to the
 * source's configured origins. It holds connections, an OAuth token and the
 * server's capabilities, but no state of a query.
 */
export function createFhirConnector(
  config: SourceConfig,
  deps: ConnectorDeps = {},
): SourceConnector {
  const resolved = resolveSourceConfig(config);
  const now = () => (deps.clock ?? Date).now();
  const http = new SourceHttp(resolved, { ...deps, now });
  const context: SourceContext = {
    config: resolved,
    http,
    capabilities: new Capabilities(http, now),
    now,
  };

  return {
    ...(resolved.incremental ? { changes: changesOf(context) } : {}),
    waitToBeginMs: () => http.waitToBeginMs(),
    async begin(patient, options, signal) {
      const { patientIds, notice } = await findSourcePatients(
        context,
        patient,
        signal,
      );
      const begun: Begin =
        patientIds.length === 0
          ? { kind: 'unknown-patient' }
          : await begin(context, patientIds, options, signal);
      const lacking = http.missingScopes();
      const notices = [
        ...(notice === undefined ? [] : [notice]),
        ...(lacking.length === 0
          ? []
          : [
              `the authorization server did not grant all scopes that were asked for: ${lacking.join(' ')}`,
            ]),
      ];
      return notices.length === 0
        ? begun
        : { ...begun, notice: notices.join('; ') };
    },
    async locate(patient, signal) {
      const { patientIds, notice } = await findSourcePatients(
        context,
        patient,
        signal,
      );
      return {
        kind: patientIds.length === 0 ? 'unknown-patient' : 'located',
        notice,
      };
    },
    async poll(handle, signal): Promise<Poll> {
      const state = await pollJob(context, jobOfHandle(handle), signal);
      // The same object if nothing changed, so that the caller need not store
      // it again.
      if (state.kind === 'pending') {
        return {
          kind: 'pending',
          job: state.changed ?? handle,
          retryAfterMs: state.retryAfterMs,
        };
      }
      return {
        kind: 'ready',
        pages: walkPages(context, state.plan, state.responses, signal),
      };
    },
    resume(cursor, signal) {
      return walkPages(context, planOfCursor(cursor), new Map(), signal);
    },
    checkMissing: (question, signal) => checkMissing(context, question, signal),
    async cancel(handle, signal) {
      await cancelJob(context, jobOfHandle(handle), signal);
    },
  };
}

const changesOf = (context: SourceContext): SourceConnector['changes'] => ({
  fingerprint: connectionFingerprint(context.config),
  fullAfterDays: context.config.fullAfterDays,
  count: (patientIds, types, signal) =>
    countResources(context, patientIds, types, signal),
});

/**
 * Requests what has changed, if the question allows it and the server honours
 * it; otherwise everything.
 */
async function begin(
  context: SourceContext,
  patientIds: string[],
  options: BeginOptions,
  signal: AbortSignal,
): Promise<Begin> {
  const how = await howToAsk(context, patientIds, options.changes, signal);
  try {
    const begun = await kickOff(context, patientIds, options, how, signal);
    return { ...begun, patientIds, checked: how.checked };
  } catch (error) {
    if (!(error instanceof ChangesNotHonoured)) throw error;
    const begun = await kickOff(
      context,
      patientIds,
      options,
      EVERYTHING,
      signal,
    );
    return {
      ...begun,
      patientIds,
      checked: { ...how.checked, [error.asked]: false },
    };
  }
}

type KickedOff = Exclude<Begin, { kind: 'unknown-patient' }>;

/**
 * Requests the data for each of the person's Patient ids; each may become a job
 * of its own.
 */
async function kickOff(
  context: SourceContext,
  patientIds: string[],
  options: BeginOptions,
  how: HowToAsk,
  signal: AbortSignal,
): Promise<KickedOff> {
  const since = how.everythingSince;
  const jobs: SourceJob['jobs'] = [];
  const steps: Step[] = [];
  const received: ReceivedResponses = new Map();
  const delaysMs: number[] = [];
  const everythingOptions = {
    async: options.realtime !== true,
    since,
    ...(context.config.callbacks ? { callbackUrl: options.callbackUrl } : {}),
  };
  try {
    for (const patientId of patientIds) {
      const response = await askEverything(
        context,
        patientId,
        everythingOptions,
        signal,
      ).catch((error: unknown) => {
        if (error instanceof ResponseTooLargeError)
          return { kind: 'too-large' as const };
        throw error;
      });
      switch (response.kind) {
        case 'page':
          received.set(patientId, response.response);
          steps.push({ kind: 'everything', patientId, since });
          break;
        case 'accepted':
          jobs.push({ url: response.statusUrl, isDone: false });
          if (response.retryAfterMs !== undefined)
            delaysMs.push(response.retryAfterMs);
          break;
        case 'too-large':
          steps.push({
            kind: 'everything',
            patientId,
            since,
            count: smallerCount(context.config.pageSize),
          });
          break;
        case 'missing':
          steps.push(
            ...(await searchStepsFor(context, patientId, how, options.changes)),
          );
          continue;
      }
      steps.push(...(await documentSearchesBesides(context, patientId)));
    }
  } catch (error) {
    // Cancel the jobs already started: their results would not be collected.
    if (jobs.length > 0)
      await abandon(context, { version: 1, patientIds, jobs, steps });
    throw error;
  }
  if (jobs.length === 0) {
    const plan = newPlan(patientIds, steps, since);
    const sinceSearched =
      plan.version === 2 ? (since ?? how.searchesSince?.since) : undefined;
    return {
      kind: 'ready',
      since: sinceSearched,
      pages: walkPages(context, plan, received, signal),
    };
  }
  const retryAfterMs =
    delaysMs.length === 0 ? undefined : Math.max(...delaysMs);
  const job: SourceJob = {
    version: since === undefined ? 1 : 2,
    since,
    patientIds,
    jobs,
    steps,
  };
  return { kind: 'accepted', job: job as JobHandle, since, retryAfterMs };
}

const ABANDON_MS = 5_000;

async function abandon(context: SourceContext, job: SourceJob): Promise<void> {
  // Best effort: the caller rethrows the original failure, and the source
  // expires its jobs by itself.
  await cancelJob(context, job, AbortSignal.timeout(ABANDON_MS)).catch(
    () => undefined,
  );
}
