import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * All that a span may say. The list is closed, because traces leave the system:
 * ids of requests and of workflows, names and states from our own code. Never a
 * patient's id, a path, a query, a header, a body, or the message of an error.
 */
export interface SpanAttributes {
  'http.request.method'?: string;
  /** The pattern of the route, never the path. */
  'http.route'?: string;
  'http.response.status_code'?: number;
  /** The class of an error. */
  'error.type'?: string;
  'exchange.operation'?: string;
  'exchange.account.id'?: string;
  /** The id of the HTTP request, as in `x-request-id` and the log. */
  'exchange.http.request.id'?: string;
  'exchange.source'?: string;
  /** What a call to a source or a partner is for: `Patient/$match`. */
  'exchange.call'?: string;
  'exchange.event.type'?: string;
  'exchange.message.id'?: string;
  'exchange.attempt'?: number;
  'temporal.workflow.type'?: string;
  'temporal.workflow.id'?: string;
  'temporal.run.id'?: string;
  'temporal.activity.type'?: string;
}

export interface SpanStart {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  attributes?: SpanAttributes;
  /**
   * W3C traceparent; 'none' begins a new trace. Default: the span in which this
   * one is started.
   */
  parent?: string | undefined;
  /** For a span that began earlier. */
  startTime?: Date;
  /** For a span whose id others derived already. */
  spanId?: string;
}

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** W3C traceparent, for what this span causes elsewhere. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  end(): void;
}

export interface Tracer {
  start(start: SpanStart): Span;
  /**
   * Sends what was recorded. Never rejects; nor does `stop`, after which
   * nothing is recorded.
   */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const active = new AsyncLocalStorage<Span | undefined>();
let tracer: Tracer | undefined;

/**
 * Everything that is started afterwards is traced; without a tracer, spans cost
 * nothing.
 */
export function installTracer(installed: Tracer | undefined): void {
  tracer = installed;
}

export const isTracing = (): boolean => tracer !== undefined;

/** The span in which this code runs. */
export const currentSpan = (): Span | undefined => active.getStore();

/** Runs work in a span, or with undefined in none. */
export const withSpan = <T>(span: Span | undefined, work: () => T): T =>
  active.run(span, work);

/** The caller must end it. Undefined when nothing is traced. */
export const startSpan = (start: SpanStart): Span | undefined =>
  tracer?.start({
    ...start,
    parent: start.parent ?? currentSpan()?.traceparent,
  });

/** Runs work in a span of its own. */
export async function traced<T>(
  start: SpanStart,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const span = startSpan(start);
  if (span === undefined) return work(undefined);
  try {
    return await withSpan(span, () => work(span));
  } catch (error) {
    span.set({ 'error.type': error instanceof Error ? error.name : 'unknown' });
    throw error;
  } finally {
    span.end();
  }
}

/** The header that continues this trace at the server that is called. */
export const traceHeaders = (): { traceparent?: string } => {
  const span = currentSpan();
  return span === undefined ? {} : { traceparent: span.traceparent };
};
