import { log } from '@temporalio/activity';
import type { SourceStep, SourceStepInput } from '../../contract/network-query-workflow.ts';
import { askSource, pollSource } from '../../exchange/queries/network-query/ask.ts';
import type { CallingSources, WorkOnSource } from '../../exchange/queries/network-query/parts.ts';
import { takeStep } from '../../exchange/queries/network-query/step.ts';
import { createChangeChecks } from '../../exchange/sources/connectors/change-check-store.ts';
import { withHeartbeat } from './heartbeat.ts';
import { describeFailure } from './source-step-failures.ts';

export type SourceActivities = ReturnType<typeof createSourceActivities>;

/** A third of the heartbeat timeout. Each heartbeat is an action that Temporal Cloud bills; a collection may take half an hour. */
const HEARTBEAT_EVERY_MS = 10_000;

/** The steps on a source (`step.ts`). Failures have one of the `SOURCE_FAILURE_TYPES`. */
export function createSourceActivities(from: Omit<CallingSources, 'checks' | 'noteUncancelled'>) {
  const deps: CallingSources = { ...from, checks: createChangeChecks(from.store), noteUncancelled };
  const step =
    (work: WorkOnSource) =>
    (input: SourceStepInput): Promise<SourceStep> =>
      withHeartbeat({ everyMs: HEARTBEAT_EVERY_MS, toFailure: describeFailure }, (signal) =>
        takeStep(deps, input, work, signal),
      );

  return {
    /** Finds the patient at the source and requests the data. Collects it if it is available at once. */
    askSource: step(askSource),
    /** Polls an accepted request. Collects the data if it is ready. */
    collectSource: step(pollSource),
  };
}

/** The source expires the job by itself. */
const noteUncancelled = (): void => log.info('the source did not accept the cancellation of a request');
