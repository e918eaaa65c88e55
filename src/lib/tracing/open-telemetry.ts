import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import {
  type ExportResult,
  ExportResultCode,
  parseTraceParent,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../logger.ts';
import type { TracingConfig } from './config.ts';
import type { Span, SpanAttributes, SpanStart, Tracer } from './spans.ts';

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;
const EXPORT_TIMEOUT_MS = 5_000;
const SERVER_FAULT_STATUS = 500;

/**
 * Sends spans by OTLP over HTTP. The only module that imports OpenTelemetry;
 * loaded only if traces are switched on.
 */
export function createTracer(
  processName: string,
  config: TracingConfig,
  logger: Logger,
): Tracer {
  const ids = new ChosenIds();
  const exporter = new OTLPTraceExporter({
    url: `${config.endpoint}/v1/traces`,
    headers: config.headers,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      ...config.resource,
      'service.namespace': 'medical-data-exchange',
      'service.name': processName,
    }),
    sampler: new ParentBasedSampler({
      root: new TraceIdRatioBasedSampler(config.ratio),
    }),
    idGenerator: ids,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportingOutages(exporter, logger),
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('medical-data-exchange');
  return {
    start: (start) =>
      startSpan(start, (options, context) => {
        ids.next = start.spanId;
        return tracer.startSpan(start.name, options, context);
      }),
    flush: () => provider.forceFlush().catch(() => undefined),
    stop: () => provider.shutdown().catch(() => undefined),
  };
}

type StartOfSdk = ReturnType<TracerProvider['getTracer']>['startSpan'];
type StartOptions = NonNullable<Parameters<StartOfSdk>[1]>;

function startSpan(
  { kind, parent, startTime, attributes = {} }: SpanStart,
  start: (
    options: StartOptions,
    context: typeof ROOT_CONTEXT,
  ) => ReturnType<StartOfSdk>,
): Span {
  const cause = parent === undefined ? null : parseTraceParent(parent);
  const context =
    cause === null
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, { ...cause, isRemote: true });
  const span = start(
    { kind: KINDS[kind], startTime, attributes: { ...attributes } },
    context,
  );
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceId,
    spanId,
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & 1}`,
    set(more) {
      span.setAttributes({ ...more });
      if (isFault(kind, more)) span.setStatus({ code: SpanStatusCode.ERROR });
    },
    end: () => span.end(),
  };
}

/**
 * To a server, a request that it refuses is no fault of its own; to a client it
 * is one.
 */
function isFault(kind: SpanStart['kind'], attributes: SpanAttributes): boolean {
  const status = attributes['http.response.status_code'] ?? 0;
  const statusOfFault = kind === 'server' ? SERVER_FAULT_STATUS : 400;
  return attributes['error.type'] !== undefined || status >= statusOfFault;
}

/** Random ids, unless the next span has one already. */
class ChosenIds implements IdGenerator {
  next: string | undefined;
  readonly #random = new RandomIdGenerator();

  generateTraceId(): string {
    return this.#random.generateTraceId();
  }

  generateSpanId(): string {
    const id = this.next ?? this.#random.generateSpanId();
    this.next = undefined;
    return id;
  }
}

/**
 * Logs when spans begin to be lost, and when they are accepted again; nothing
 * else depends on them.
 */
function reportingOutages(
  exporter: SpanExporter,
  logger: Logger,
): SpanExporter {
  let isFailing = false;
  const report = (result: ExportResult) => {
    const failed = result.code !== ExportResultCode.SUCCESS;
    if (failed && !isFailing)
      logger.warn(
        { error: result.error?.name },
        'traces are lost: OTEL_EXPORTER_OTLP_ENDPOINT does not accept them',
      );
    if (!failed && isFailing) logger.info('traces are accepted again');
    isFailing = failed;
  };
  return {
    export: (spans: ReadableSpan[], done) =>
      exporter.export(spans, (result) => {
        report(result);
        done(result);
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}
