import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { withoutHops } from '../../../src/lib/hop-by-hop.ts';

/** `body`: of a short response, which has arrived whole. */
export interface Answer {
  response: IncomingMessage;
  body?: Buffer | undefined;
}

/** What came of sending a request to one server. */
export type Outcome =
  | Answer
  /** `wasSent`: the server may have received and handled it. */
  | { failed: true; wasSent: boolean };

export interface Sending {
  readonly agent: Agent;
  readonly origin: string;
  readonly incoming: IncomingMessage;
  /** The body of a request that may be repeated; that of any other is streamed. */
  readonly body: Buffer | undefined;
  /** Aborts when the client leaves or the proxy closes. */
  readonly signal: AbortSignal;
}

/** Sends a request, but nothing of it before the connection is open. Never rejects. */
export async function send(sending: Sending): Promise<Outcome> {
  const outcome = await begin(sending);
  if ('failed' in outcome || sending.body === undefined) return outcome;
  const bytes = Number(outcome.response.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  if (bytes > REPEATABLE_BYTES_MAX || sending.incoming.method === 'HEAD') return outcome;
  try {
    return { response: outcome.response, body: await buffer(outcome.response) };
  } catch {
    return { failed: true, wasSent: true };
  }
}

function begin({ agent, origin, incoming, body, signal }: Sending): Promise<Outcome> {
  return new Promise((resolve) => {
    let wasSent = false;
    const { method, headers, socket } = incoming;
    const outgoing = httpRequest(new URL(incoming.url ?? '/', origin), {
      agent,
      method,
      signal,
      headers: {
        ...withoutHops(headers),
        'x-forwarded-for': [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', '),
      },
    });
    const write = () => {
      wasSent = true;
      if (body !== undefined || !hasBody(headers)) outgoing.end(body);
      else incoming.pipe(outgoing);
    };
    outgoing.once('socket', (connection) =>
      connection.connecting ? connection.once('connect', write) : write(),
    );
    outgoing.once('response', (response) => resolve({ response }));
    outgoing.on('error', () => resolve({ failed: true, wasSent }));
  });
}

/** What is larger is streamed, and so cannot be sent a second time. */
const REPEATABLE_BYTES_MAX = 1024 * 1024;

/** Whether a request may be sent again when its response was lost: it reads, or its Idempotency-Key makes both sendings one. */
export function mayBeRepeated({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (method === 'GET' || method === 'HEAD') return !hasBody(headers);
  const bytes = Number(headers['content-length'] ?? 0);
  return (
    headers['idempotency-key'] !== undefined &&
    headers['transfer-encoding'] === undefined &&
    bytes <= REPEATABLE_BYTES_MAX
  );
}

const hasBody = (headers: IncomingMessage['headers']): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
