import type { SourceStep } from '../../contract/network-query-steps.ts';
import { ProcessEndedTooOften, type StartGuard } from '../../exchange/platform/recovery/start-guard.ts';
import type { AttemptWork, PartStep } from '../../exchange/queries/network-query/attempt-store.ts';
import {
  type SourceConnector,
  SourceFailure,
  type SourceFailureKind,
} from '../../exchange/sources/connectors/connector.ts';
import type { SourceHealth } from '../../exchange/sources/health/source-health.ts';
import { watchConnector } from '../../exchange/sources/health/watch-connector.ts';

/** Asks a source, or collects its answer, as far as it is available. */
export type WorkOnSource = (
  step: PartStep,
  work: AttemptWork,
  connector: SourceConnector,
  signal: AbortSignal,
) => Promise<SourceStep>;

/** What became of the work: a result, a wait because no query may call the source now, or the source's failure. */
export type Called =
  | { kind: 'done'; result: SourceStep }
  | { kind: 'held'; reason: string; waitMs: number }
  | { kind: 'failed'; failure: SourceFailure };

export type CallSource = (
  step: PartStep,
  work: AttemptWork,
  connector: SourceConnector,
  run: WorkOnSource,
  signal: AbortSignal,
) => Promise<Called>;

/**
 * Runs work on one connection to a source, unless its breaker holds it, or this work has ended its process too often. Reports
 * to the breaker how the source answered. Throws only errors that are not the source's.
 */
export function createSourceCalls({
  sourceHealth,
  startGuard,
}: {
  sourceHealth: SourceHealth;
  startGuard: StartGuard;
}): CallSource {
  return async (step, work, connector, run, signal) => {
    const connection = connectionOf(step);
    // What is collected completely needs no call.
    if (!work.isCollected) {
      const admitted = await sourceHealth.admit(connection);
      if (!admitted.mayCall) return { kind: 'held', reason: admitted.reason, waitMs: admitted.waitMs };
    }
    const watched = watchConnector(connector, () => sourceHealth.answered(connection));
    const { accountId, source } = step;
    const counted = {
      accountId,
      name: nameOf(step),
      progress: `${work.job === null ? 'asking' : 'accepted'}/${work.pages}`,
    };
    try {
      const result = await startGuard.run(counted, signal, () => run(step, work, watched, signal));
      return { kind: 'done', result };
    } catch (error) {
      const failure =
        error instanceof ProcessEndedTooOften
          ? new SourceFailure('refused', `${source} is not queried again: ${error.message}`, { cause: error })
          : error;
      if (!(failure instanceof SourceFailure) || signal.aborted) throw failure;
      if (isOutage(failure.kind))
        await sourceHealth.failed(connection, { attempt: attemptOf(step), reason: failure.message });
      else await sourceHealth.answered(connection);
      return { kind: 'failed', failure };
    }
  };
}

/** Key of the connection that a step uses; the breaker, pauses and rates are counted by it. */
const connectionOf = ({ source, part }: PartStep): string => part?.id ?? source;

const attemptOf = ({ requestId, source, attempt }: PartStep): string => `${requestId}/${source}/${attempt}`;

const nameOf = (step: PartStep): string =>
  `source/${attemptOf(step)}${step.part === undefined ? '' : `/${step.part.id}`}`;

/** Whether the failure says that the source would fail or refuse any query. (With a 429 it answers, but not so fast.) */
const isOutage = (kind: SourceFailureKind): boolean => kind === 'transport' || kind === 'denied';
