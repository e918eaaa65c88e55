import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import {
  ContinueAsNew,
  isCancellation,
  proxySinks,
  type Sinks,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from '@temporalio/workflow';
import { readTrace, spanIdOfRun, traceHeader } from './trace-header.ts';

/** What a run reports to its worker, which makes a span of it. */
export interface TraceSinks extends Sinks {
  traces: {
    runEnded(cause: string, spanId: string, outcome: RunOutcome): void;
  };
}
export type RunOutcome = 'completed' | 'failed' | 'cancelled' | 'continued';

/**
 * Passes on the trace that a run was started in. There is nothing of
 * OpenTelemetry in the sandbox, and without such a header nothing happens here.
 * Nothing is awaited either, so that no step of a workflow takes place earlier
 * or later because of a trace: a run goes on whether its workers trace or not
 * (docs/decisions/0129-traces-without-a-person.md).
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  /** For what this run starts. */
  let ofRun: Headers = {};
  /** For the run that continues this one. */
  let ofCause: Headers = {};
  const passedOn = <I extends { headers: Headers }>(input: I): I => ({
    ...input,
    headers: { ...input.headers, ...ofRun },
  });
  return {
    inbound: [
      {
        execute(input, next) {
          const cause = readTrace(input.headers, defaultPayloadConverter);
          if (cause === undefined) return next(input);
          const spanId = spanIdOfRun(workflowInfo().runId);
          ofCause = traceHeader(cause, defaultPayloadConverter);
          ofRun = traceHeader(
            cause.replace(/-[\da-f]{16}-/, `-${spanId}-`),
            defaultPayloadConverter,
          );
          const { traces } = proxySinks<TraceSinks>();
          const running = next(input);
          running.then(
            () => traces.runEnded(cause, spanId, 'completed'),
            (error: unknown) =>
              traces.runEnded(cause, spanId, runOutcome(error)),
          );
          return running;
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(passedOn(input)),
        scheduleLocalActivity: (input, next) => next(passedOn(input)),
        startChildWorkflowExecution: (input, next) => next(passedOn(input)),
        signalWorkflow: (input, next) => next(passedOn(input)),
        continueAsNew: (input, next) =>
          next({ ...input, headers: { ...input.headers, ...ofCause } }),
      },
    ],
  };
};

function runOutcome(error: unknown): RunOutcome {
  if (error instanceof ContinueAsNew) return 'continued';
  return isCancellation(error) ? 'cancelled' : 'failed';
}
