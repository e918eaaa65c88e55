import type { Headers, PayloadConverter } from '@temporalio/common';

/**
 * The header, and its form, of the SDKs' own OpenTelemetry interceptors, so
 * that a caller's workers continue our traces.
 */
const TRACE_HEADER = '_tracer-data';
/** W3C traceparent: version, trace, span, flags. */
const TRACEPARENT = /^00-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

export const traceHeader = (
  traceparent: string,
  converter: PayloadConverter,
): Headers => ({
  [TRACE_HEADER]: converter.toPayload({ traceparent }),
});

export function readTrace(
  headers: Headers,
  converter: PayloadConverter,
): string | undefined {
  const payload = headers[TRACE_HEADER];
  if (payload === undefined) return undefined;
  const { traceparent } = converter.fromPayload<{ traceparent?: unknown }>(
    payload,
  );
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent)
    ? traceparent
    : undefined;
}

/**
 * The span of a run. Derived, so that whatever the run starts knows it, on any
 * worker and in any replay.
 */
export const spanIdOfRun = (runId: string): string =>
  runId.replaceAll('-', '').slice(-16);
