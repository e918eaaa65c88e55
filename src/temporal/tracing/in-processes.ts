import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from '@temporalio/activity';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptors, InjectedSinks } from '@temporalio/worker';
import {
  currentSpan,
  type Span,
  type SpanStart,
  startSpan,
  traced,
} from '../../lib/tracing/spans.ts';
import type { TraceSinks } from './in-workflows.ts';
import { readTrace, traceHeader } from './trace-header.ts';

const withTrace = (
  headers: Headers,
  span: Span | undefined = currentSpan(),
): Headers =>
  span === undefined
    ? headers
    : { ...headers, ...traceHeader(span.traceparent, defaultPayloadConverter) };

const toTemporal = (
  name: string,
  workflowId: string | undefined,
): SpanStart => ({
  name,
  kind: 'producer',
  attributes: { 'temporal.workflow.id': workflowId },
});

/**
 * Starts, signals and updates carry the trace of the request or activity that
 * sends them.
 */
export const clientTraces: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    traced(
      toTemporal(`start ${input.workflowType}`, input.options.workflowId),
      (span) => next({ ...input, headers: withTrace(input.headers, span) }),
    ),
  signalWithStart: (input, next) =>
    traced(
      toTemporal(
        `signal or start ${input.workflowType}`,
        input.options.workflowId,
      ),
      (span) => next({ ...input, headers: withTrace(input.headers, span) }),
    ),
  signal: (input, next) =>
    traced(
      toTemporal(
        `signal ${input.signalName}`,
        input.workflowExecution.workflowId,
      ),
      (span) => next({ ...input, headers: withTrace(input.headers, span) }),
    ),
  startUpdate: (input, next) =>
    traced(
      toTemporal(
        `update ${input.updateName}`,
        input.workflowExecution.workflowId,
      ),
      (span) => next({ ...input, headers: withTrace(input.headers, span) }),
    ),
};

/**
 * A span for each attempt of an activity, in the trace of its workflow, or in
 * one of its own.
 */
export const activityTraces = ({ info }: Context): ActivityInterceptors => ({
  inbound: {
    execute: (input, next) =>
      traced(
        {
          name: `activity ${info.activityType}`,
          kind: 'consumer',
          parent: readTrace(input.headers, defaultPayloadConverter) ?? 'none',
          attributes: {
            'temporal.activity.type': info.activityType,
            'temporal.workflow.type': info.workflowType,
            'temporal.workflow.id': info.workflowExecution?.workflowId,
            'temporal.run.id': info.workflowExecution?.runId,
            'exchange.attempt': info.attempt,
          },
        },
        () => next(input),
      ),
  },
});

/**
 * Runs of workflows become spans when they end, which may be weeks after their
 * first activity.
 */
export const runTraces: InjectedSinks<TraceSinks> = {
  traces: {
    runEnded: {
      fn(
        { workflowType, workflowId, runId, runStartTime },
        cause,
        spanId,
        outcome,
      ) {
        const span = startSpan({
          name: `workflow ${workflowType}`,
          kind: 'internal',
          parent: cause,
          spanId,
          startTime: runStartTime,
          attributes: {
            'temporal.workflow.type': workflowType,
            'temporal.workflow.id': workflowId,
            'temporal.run.id': runId,
          },
        });
        if (outcome === 'failed') span?.set({ 'error.type': 'WorkflowFailed' });
        span?.end();
      },
    },
  },
};

/**
 * The interceptors of workflow code: a source here, a script in the packed
 * library.
 */
export const TRACE_INTERCEPTORS = fileURLToPath(
  new URL(
    `./in-workflows${extname(new URL(import.meta.url).pathname)}`,
    import.meta.url,
  ),
);
