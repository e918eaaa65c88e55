import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { PartnerSettings } from './settings.ts';
import { SignedCalls } from './signed-call.ts';

const sentMessage = z.looseObject({
  id: z.uuid(),
  destination: z.string(),
  attachments: z.array(z.looseObject({ id: z.string(), content: z.base64() })),
});

/** A message that the partner accepted: its outcome and its attachments. */
export interface Carried {
  end: { status: 'accepted' | 'delivered' | 'failed'; reason?: 'undelivered' };
  attachments: { id: string; sizeBytes: number; sha256: string }[];
}

const BODY_BYTES_MAX = 40 * 1024 * 1024;

/**
 * Delivers an inbound message to the exchange. Returns the HTTP status, 0 for
 * no response.
 */
export type Deliver = (message: object) => Promise<number>;

/**
 * The stand-in transport partner for messages (XDR and Direct): accepts
 * messages, and confirms or fails them according to its settings. Messages are
 * kept in memory only.
 * @param callbackUrl callback of the exchange; without it no receipts are sent
 */
export async function messageRoutes(
  app: FastifyInstance,
  options: {
    secret: string;
    settings: PartnerSettings;
    callbackUrl?: string;
    /** Accepted messages by the exchange's id. */
    carried: Map<string, Carried>;
  },
): Promise<void> {
  const calls = new SignedCalls(options.secret);
  const { carried } = options;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'string', bodyLimit: BODY_BYTES_MAX },
    (_request, body, done) => done(null, body),
  );

  app.post('/messages', (request, reply) => {
    const { messages: settings } = options.settings;
    if (settings.downTimes > 0) {
      options.settings.change({
        messages: { downTimes: settings.downTimes - 1 },
      });
      return reply.code(503).send({ error: 'down' });
    }
    const text = String(request.body ?? '');
    if (!calls.isGenuine(request.headers, text))
      return reply.code(401).send({ error: 'missing or invalid signature' });
    const message = sentMessage.safeParse(JSON.parse(text));
    if (!message.success)
      return reply.code(400).send({ error: z.prettifyError(message.error) });
    if (settings.outcome === 'refused')
      return reply.code(422).send({ error: 'refused' });
    const { id } = message.data;
    const known = carried.get(id);
    if (known !== undefined) return known.end;
    const end: Carried['end'] =
      settings.outcome === 'failed'
        ? { status: 'failed', reason: 'undelivered' }
        : { status: 'delivered' };
    const now: Carried['end'] =
      settings.delivers === 'at-once' ? end : { status: 'accepted' };
    carried.set(id, {
      end: now,
      attachments: message.data.attachments.map(seenOf),
    });
    if (settings.delivers !== 'at-once') void endLater(id, end);
    return now;
  });

  app.get<{ Params: { id: string } }>('/messages/:id', (request, reply) => {
    if (!calls.isGenuine(request.headers, ''))
      return reply.code(401).send({ error: 'missing or invalid signature' });
    return (
      carried.get(request.params.id)?.end ??
      reply.code(404).send({ error: 'unknown' })
    );
  });

  async function endLater(id: string, end: Carried['end']): Promise<void> {
    const { delayMs, delivers, callbacks } = options.settings.messages;
    await sleep(delayMs, undefined, { ref: false });
    carried.set(id, { attachments: [], ...carried.get(id), end });
    if (delivers !== 'later' || options.callbackUrl === undefined) return;
    for (let times = 0; times < callbacks; times++)
      await calls.post(options.callbackUrl, `msg_${id}`, {
        type: 'receipt',
        reference: id,
      });
  }
}

function seenOf({
  id,
  content,
}: {
  id: string;
  content: string;
}): Carried['attachments'][number] {
  const bytes = Buffer.from(content, 'base64');
  return {
    id,
    sizeBytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

/** Returns undefined when no exchange is configured. */
export function createDeliver(options: {
  secret?: string;
  callbackUrl?: string;
}): Deliver | undefined {
  const { secret, callbackUrl } = options;
  if (secret === undefined || callbackUrl === undefined) return undefined;
  const calls = new SignedCalls(secret);
  return (message) =>
    calls.post(callbackUrl, `msg_${Date.now()}`, {
      ...message,
      type: 'message',
    });
}
