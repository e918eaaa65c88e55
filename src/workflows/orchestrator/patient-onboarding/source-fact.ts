import type { LearnedBy } from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';

/**
 * The state of one source that the exchange reported, with the time by the
 * exchange's clock.
 */
export interface SourceFact {
  atMs: number;
  state: 'running' | 'failed' | 'completed';
  via: LearnedBy;
}

/**
 * The response to E2, E3 and cancel. Other services may use other states, so
 * `status` is any string.
 */
export interface QueryReport {
  requestId: string;
  status: string;
  sources: {
    type: SourceType;
    status: string;
    startedAt: string;
    completedAt?: string;
  }[];
  errors: { source: SourceType; httpStatus: number }[];
}

const STATE_RANK = { running: 0, failed: 1, completed: 2 } as const;
const VIA_RANK = { poll: 0, webhook: 1 } as const;

/**
 * Returns the later fact by the exchange's clock. This is a total order, so
 * late and duplicate facts in any order leave the same one. A new attempt is
 * later than the failure before it, and therefore replaces it.
 */
export function laterFact(
  known: SourceFact | undefined,
  fact: SourceFact,
): SourceFact {
  if (known === undefined) return fact;
  const difference =
    fact.atMs - known.atMs ||
    STATE_RANK[fact.state] - STATE_RANK[known.state] ||
    VIA_RANK[fact.via] - VIA_RANK[known.via];
  return difference > 0 ? fact : known;
}

const RUNNING = /^(processing|in-progress)$/;

export const isRunning = (answer: QueryReport): boolean =>
  RUNNING.test(answer.status);

/**
 * Reads the state of one source from an E3 response; undefined when it lists no
 * attempt. The last attempt counts. Its failure counts only after the whole
 * query has ended: until then, another attempt may follow.
 */
export function polledFact(
  answer: QueryReport,
  type: SourceType,
): SourceFact | undefined {
  const last = lastAttempt(answer, type);
  if (last === undefined) return undefined;
  return {
    atMs: instantMs(last.completedAt ?? last.startedAt),
    state: factState(last, answer),
    via: 'poll',
  };
}

/**
 * Counts the attempts at a source; other services may list only the last one.
 */
export const attemptsOf = (answer: QueryReport, type: SourceType): number =>
  answer.sources.filter((source) => source.type === type).length;

type Attempt = QueryReport['sources'][number];

function lastAttempt(
  answer: QueryReport,
  type: SourceType,
): Attempt | undefined {
  let last: Attempt | undefined;
  for (const source of answer.sources)
    if (
      source.type === type &&
      (last === undefined ||
        instantMs(source.startedAt) >= instantMs(last.startedAt))
    )
      last = source;
  return last;
}

/**
 * docs/interface.md ("States and transitions") names the states; an unknown
 * final state follows the query's own.
 */
function factState(attempt: Attempt, answer: QueryReport): SourceFact['state'] {
  if (RUNNING.test(attempt.status)) return 'running';
  if (attempt.status === 'completed') return 'completed';
  if (isRunning(answer)) return 'running';
  return attempt.status !== 'failed' && answer.status === 'completed'
    ? 'completed'
    : 'failed';
}

/**
 * Parses an ISO 8601 time to milliseconds. Returns 0 for an invalid one, so
 * that it never replaces a valid one.
 */
export function instantMs(instant: string): number {
  const ms = Date.parse(instant);
  return Number.isNaN(ms) ? 0 : ms;
}
