import type { SourceStep } from '../../../contract/network-query-workflow.ts';
import { ProcessEndedTooOften, type StartGuard } from '../../platform/recovery/start-guard.ts';
import { SourceFailure } from '../../sources/connectors/connector.ts';
import { type SourceHealth, watchConnector } from '../../sources/health/source-health.ts';
import type { Asking } from './ask.ts';
import type { PartStep, SourceWork } from './attempt-store.ts';
import { AFTER_FAILURE } from './rules/retries.ts';

/** Asks a source, or collects its answer, as far as it is available. */
export type WorkOnSource = (deps: Asking, on: SourceWork) => Promise<SourceStep>;

export interface CallingSources extends Asking {
  startGuard: StartGuard;
  sourceHealth: SourceHealth;
}

/** What became of the work: a result, a wait because no query may call the source now, or the source's failure. */
type Called =
  | { kind: 'done'; result: SourceStep }
  | { kind: 'held'; reason: string; waitMs: number }
  | { kind: 'failed'; failure: SourceFailure };

/**
 * Runs work on one connection to a source, unless its breaker holds it, or this work has ended its process too often. Reports
 * to the breaker how the source answered. Throws only errors that are not the source's.
 */
export async function callSource(deps: CallingSources, on: SourceWork, run: WorkOnSource): Promise<Called> {
  const { sourceHealth, startGuard } = deps;
  const { step, work, signal } = on;
  const connection = connectionOf(step);
  // What is collected completely needs no call.
  if (!work.isCollected) {
    const admitted = await sourceHealth.admit(connection);
    if (!admitted.mayCall) return { kind: 'held', reason: admitted.reason, waitMs: admitted.waitMs };
  }
  const connector = watchConnector(on.connector, () => sourceHealth.answered(connection));
  const { accountId, source } = step;
  const counted = {
    accountId,
    name: nameOf(step),
    progress: `${work.job === null ? 'asking' : 'accepted'}/${work.pages}`,
  };
  try {
    const result = await startGuard.run(counted, signal, () => run(deps, { ...on, connector }));
    return { kind: 'done', result };
  } catch (error) {
    const failure =
      error instanceof ProcessEndedTooOften
        ? new SourceFailure('refused', `${source} is not queried again: ${error.message}`, { cause: error })
        : error;
    if (!(failure instanceof SourceFailure) || signal.aborted) throw failure;
    if (AFTER_FAILURE[failure.kind].isOutage)
      await sourceHealth.failed(connection, { attempt: attemptOf(step), reason: failure.message });
    else await sourceHealth.answered(connection);
    return { kind: 'failed', failure };
  }
}

/** Key of the connection that a step uses; the breaker, pauses and rates are counted by it. */
const connectionOf = ({ source, part }: PartStep): string => part?.id ?? source;

const attemptOf = ({ requestId, source, attempt }: PartStep): string => `${requestId}/${source}/${attempt}`;

const nameOf = (step: PartStep): string =>
  `source/${attemptOf(step)}${step.part === undefined ? '' : `/${step.part.id}`}`;
