import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span in the JSON form of OTLP, with its attributes as a map. */
export interface ReceivedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: Record<string, string | number>;
  /** 2: an error. */
  status?: { code?: number; message?: string };
  events?: unknown[];
}

export interface OtlpReceiver {
  url: string;
  spans: ReceivedSpan[];
  /** All requests as they arrived, with their headers. */
  text(): string;
  close(): Promise<void>;
}

type Value = { stringValue?: string; intValue?: number; doubleValue?: number };
type Attributes = { key: string; value: Value }[];
interface Export {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: {
      spans: (Omit<ReceivedSpan, 'service' | 'attributes'> & {
        attributes: Attributes;
      })[];
    }[];
  }[];
}

/** A collector that keeps the spans it receives. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const texts: string[] = [];
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      texts.push(JSON.stringify(request.headers), body);
      if (request.method === 'POST' && request.url === '/v1/traces')
        spans.push(...spansOf(JSON.parse(body)));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => texts.join('\n'),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const spansOf = ({ resourceSpans }: Export): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service: String(mapOf(resource.attributes)['service.name']),
        attributes: mapOf(span.attributes),
      })),
    ),
  );

const mapOf = (attributes: Attributes): Record<string, string | number> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.intValue ??
        value.doubleValue ??
        JSON.stringify(value),
    ]),
  );

/** The environment of processes that send their spans to it. */
export function tracedTo({ url }: OtlpReceiver) {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
  return { gateway: environment, worker: environment, receiver: environment };
}
