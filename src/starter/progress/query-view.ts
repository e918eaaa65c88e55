import type { TimelineEntry } from '../../contract/network-query.ts';
import { SOURCE_TYPES, type SourceType } from '../../contract/primitives.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { QueryResponse } from '../../orchestrator/client/responses.ts';
import { terminalText } from './plain-text.ts';

export interface ShownAttempt {
  /** Counts from 1 for each source. */
  attempt: number;
  state: 'running' | 'completed' | 'failed';
  startedAt: string;
  completedAt?: string;
}

export type QuerySourceView = ReturnType<typeof sourceView>;

/** State of a query by source, from E3 and the timeline. */
export interface QueryView {
  requestId: string;
  state: 'running' | 'completed' | 'partial' | 'failed';
  sources: QuerySourceView[];
  timeline: TimelineEntry[];
  /** Why there is no newer state. */
  problem?: string;
}

const RUNNING = /^(processing|in-progress)$/;

export function queryView(
  answer: QueryResponse,
  timeline: readonly TimelineEntry[],
): QueryView {
  const safe = timeline.map((entry) => ({
    ...entry,
    message: terminalText(entry.message),
  }));
  const types = new Set([
    ...answer.sources.map(({ type }) => type),
    ...answer.errors.map(({ source }) => source),
  ]);
  const state = overallState(answer.status);
  return {
    requestId: answer.requestId,
    state,
    sources: [...types]
      .sort(byKind)
      .map((type) => sourceView(type, answer, safe, state === 'running')),
    timeline: safe,
  };
}

function sourceView(
  type: SourceType,
  answer: QueryResponse,
  timeline: readonly TimelineEntry[],
  isQueryRunning: boolean,
) {
  const entries = timeline.filter(({ source }) => source === type);
  const history = answer.sources
    .filter((source) => source.type === type)
    .sort((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt))
    .map(
      ({ status, startedAt, completedAt }, index): ShownAttempt => ({
        attempt: index + 1,
        state: attemptState(status, isQueryRunning),
        startedAt,
        completedAt,
      }),
    );
  const gateways = answer.sources.findLast(
    (source) => source.type === type,
  )?.gateways;
  const error = answer.errors.find(({ source }) => source === type);
  const refusal =
    error === undefined
      ? undefined
      : `could not be started (${error.httpStatus})`;
  return {
    type,
    /**
     * State of the last attempt. While the query runs, a failed attempt may be
     * followed by another one.
     */
    state: history.at(-1)?.state ?? ('not-started' as const),
    // Some exchanges list only the last attempt; the timeline has all of them.
    attempts: Math.max(
      history.length,
      ...entries.map(({ attempt = 0 }) => attempt),
    ),
    history,
    /** How many gateways of networks were asked, and how they stand. */
    ...(gateways === undefined ? {} : { gateways }),
    /** The latest message of the timeline about this source. */
    note:
      entries.at(-1)?.message ?? (history.length === 0 ? refusal : undefined),
  };
}

function overallState(status: string): QueryView['state'] {
  if (RUNNING.test(status)) return 'running';
  return status === 'completed' || status === 'partial' ? status : 'failed';
}

/** Other services may use further words for an end. */
function attemptState(
  status: string,
  isQueryRunning: boolean,
): ShownAttempt['state'] {
  if (status === 'completed' || status === 'failed') return status;
  return RUNNING.test(status) || isQueryRunning ? 'running' : 'failed';
}

const byKind = (a: SourceType, b: SourceType): number =>
  SOURCE_TYPES.indexOf(a) - SOURCE_TYPES.indexOf(b);

/**
 * Reads queries (E3) with their timeline, if the exchange has one: the timeline
 * is not part of the interface.
 */
export class QueryReader {
  #hasTimeline = true;
  private readonly client: ExchangeClient;

  constructor(client: ExchangeClient) {
    this.client = client;
  }

  /** Throws ExchangeCallError when E3 fails. */
  async read(requestId: string, signal?: AbortSignal): Promise<QueryView> {
    const { answer } = await this.client.call(
      'getNetworkQuery',
      { params: { requestId } },
      { signal },
    );
    // Read second: it may be newer than the status, so an ended query always
    // comes with its full timeline.
    return queryView(answer, await this.#timeline(requestId, signal));
  }

  async #timeline(
    requestId: string,
    signal: AbortSignal | undefined,
  ): Promise<TimelineEntry[]> {
    if (!this.#hasTimeline) return [];
    try {
      const { answer } = await this.client.call(
        'getNetworkQueryTimeline',
        { params: { requestId } },
        { signal },
      );
      return answer.timeline;
    } catch (error) {
      if (!(error instanceof ExchangeCallError)) throw error;
      if (
        error.kind === 'not-found' ||
        error.kind === 'rejected' ||
        error.kind === 'bad-answer'
      )
        this.#hasTimeline = false;
      return [];
    }
  }
}
