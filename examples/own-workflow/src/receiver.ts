import { createServer, type IncomingMessage, type Server } from 'node:http';
import {
  isSigned,
  readWebhookMessage,
  type WebhookMessage,
} from '@medical-data-exchange/library/webhooks';

const BODY_MAX_BYTES = 1_000_000;

/**
 * Receives the exchange's webhooks. `key` is a promise, because the exchange
 * pings a new address before it returns the key. `take` throws to make the
 * exchange send the message again.
 */
export function createReceiver(
  key: () => Promise<string>,
  take: (message: WebhookMessage) => Promise<void>,
): Server {
  return createServer(async (request, response) => {
    const answer = await handle(request, key, take).catch(() => ({
      status: 503,
      body: {},
    }));
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body));
  });
}

async function handle(
  request: IncomingMessage,
  key: () => Promise<string>,
  take: (message: WebhookMessage) => Promise<void>,
): Promise<{ status: number; body: object }> {
  const rawBody = await readBody(request);
  if (rawBody === undefined) return { status: 413, body: {} };
  if (!isSigned(rawBody, request.headers, [await key()]))
    return { status: 401, body: {} };
  const message = readWebhookMessage(rawBody);
  if (message === undefined) return { status: 400, body: {} };
  if (message.ping !== undefined)
    return { status: 200, body: { pong: message.ping } };
  await take(message);
  return { status: 200, body: {} };
}

/** Returns undefined when the body is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  for await (const part of request) {
    sizeBytes += part.length;
    if (sizeBytes > BODY_MAX_BYTES) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
