import type { LearnedBy } from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';

/** What the exchange said of one source at one time of its own clock. */
export interface SourceFact {
  atMs: number;
  state: 'running' | 'failed' | 'completed';
  via: LearnedBy;
}

/** E2, E3 and cancel answer this; another service's states are open. */
export interface QueryAnswer {
  requestId: string;
  status: string;
  sources: { type: string; status: string; startedAt: string; completedAt?: string }[];
  errors: { source: string; httpStatus: number }[];
}

const STATE_RANK = { running: 0, failed: 1, completed: 2 } as const;
const VIA_RANK = { poll: 0, webhook: 1 } as const;

/**
 * The later one by the exchange's clock. A total order, so however facts arrive, late or doubled, the same one is
 * left at the end; a new attempt after a failure is later than that failure, so it takes its place.
 */
export function laterFact(known: SourceFact | undefined, fact: SourceFact): SourceFact {
  if (known === undefined) return fact;
  const difference =
    fact.atMs - known.atMs ||
    STATE_RANK[fact.state] - STATE_RANK[known.state] ||
    VIA_RANK[fact.via] - VIA_RANK[known.via];
  return difference > 0 ? fact : known;
}

const RUNNING = /^(processing|in-progress)$/;

export const isRunning = (answer: QueryAnswer): boolean => RUNNING.test(answer.status);

/**
 * What E3 says of one source; undefined when it lists no attempt of it. The last attempt counts, and its failure
 * only once the whole query has ended: until then another attempt may be due.
 */
export function polledFact(answer: QueryAnswer, type: SourceType): SourceFact | undefined {
  const last = lastAttempt(answer, type);
  if (last === undefined) return undefined;
  return { atMs: instantMs(last.completedAt ?? last.startedAt), state: stateOf(last, answer), via: 'poll' };
}

/** One entry for each attempt (a service may list only the last one). */
export const attemptsOf = (answer: QueryAnswer, type: SourceType): number =>
  answer.sources.filter((source) => source.type === type).length;

type Attempt = QueryAnswer['sources'][number];

function lastAttempt(answer: QueryAnswer, type: SourceType): Attempt | undefined {
  let last: Attempt | undefined;
  for (const source of answer.sources)
    if (
      source.type === type &&
      (last === undefined || instantMs(source.startedAt) >= instantMs(last.startedAt))
    )
      last = source;
  return last;
}

/** interface.md names the running states only; an unknown end is judged by how the query ended. */
function stateOf(attempt: Attempt, answer: QueryAnswer): SourceFact['state'] {
  if (RUNNING.test(attempt.status)) return 'running';
  if (attempt.status === 'completed') return 'completed';
  if (isRunning(answer)) return 'running';
  return attempt.status !== 'failed' && answer.status === 'completed' ? 'completed' : 'failed';
}

/** 0 for what is no date, so that a sloppy answer never wins over a good one. */
export function instantMs(instant: string): number {
  const ms = Date.parse(instant);
  return Number.isNaN(ms) ? 0 : ms;
}
