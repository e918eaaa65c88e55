import { createHash, timingSafeEqual } from 'node:crypto';
import type { Payload } from '@temporalio/common';
import { fastify } from 'fastify';
import { z } from 'zod';
import type { KeyRing } from '../lib/key-ring.ts';
import { createEncryptionCodec } from './codec.ts';

export interface CodecServerOptions {
  keyRing: KeyRing;
  /** Origins of the Temporal UI. Asked at each request, for the UI may get its port later than this server. */
  allowedOrigins: () => readonly string[];
  /** Unguessable first segment of the path: who knows the address may decode. */
  pathSecret: string;
  host: string;
  /** 0 takes a free one. */
  port: number;
}

export interface CodecServer {
  /** For the UI's `--ui-codec-endpoint` and the CLI's `--codec-endpoint`; holds the secret, so never log it. */
  endpoint: string;
  close(): Promise<void>;
}

/** Of the UI 2.54; Authorization-Extras carries the id token when the UI is told to pass its login on. */
const UI_HEADERS = 'content-type, x-namespace, authorization, authorization-extras';
/** Temporal's largest message is 4 MB; base64 makes 4/3 of it. */
export const CODEC_BODY_BYTES_MAX = 6 * 1024 * 1024;

export const NO_PAYLOADS = { error: 'The body is not {"payloads": [...]}' };

const payloadsSchema = z.object({
  payloads: z.array(
    z.object({ metadata: z.record(z.string(), z.string()).optional(), data: z.string().optional() }),
  ),
});

/**
 * Lets the Temporal UI show what workers encrypted: `POST /<secret>/decode` (the UI appends
 * `?preserveStorageRefs=true`; there are no such references here). There is no `/encode`: nobody has a reason to
 * write into workflows by hand. A payload that cannot be decrypted comes back as it is. Nothing is logged.
 */
export async function createCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const decode = createDecoder(options.keyRing);
  const app = fastify({ logger: false, bodyLimit: CODEC_BODY_BYTES_MAX, exposeHeadRoutes: false });

  app.addHook('onRequest', async (request, reply) => {
    const { secret } = request.params as { secret?: string };
    if (!isSame(secret ?? '', options.pathSecret)) return reply.callNotFound();
    const { origin } = request.headers;
    reply.headers({ 'cache-control': 'no-store', vary: 'Origin' });
    if (origin === undefined) return; // not a browser
    if (!options.allowedOrigins().includes(origin))
      return reply.code(403).send({ error: 'This page may not have payloads decoded' });
    reply.headers({ 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' });
  });

  app.options('/:secret/decode', (_request, reply) =>
    reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': UI_HEADERS,
        'access-control-max-age': '600',
      })
      .send(),
  );

  app.post('/:secret/decode', async (request, reply) => {
    const decoded = await decode(request.body);
    return decoded ?? reply.code(400).send(NO_PAYLOADS);
  });

  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    return reply.code(status).send({ error: status < 500 ? 'The request cannot be read' : 'Internal error' });
  });

  const address = await app.listen({ host: options.host, port: options.port });
  return { endpoint: `${address}/${options.pathSecret}`, close: () => app.close() };
}

/** Answers the body of a decode request; undefined when it is not one. A payload that does not decrypt stays as it is. */
export function createDecoder(keyRing: KeyRing): (body: unknown) => Promise<unknown> {
  const codec = createEncryptionCodec(keyRing);
  return async (body) => {
    const parsed = payloadsSchema.safeParse(body);
    if (!parsed.success) return undefined;
    const payloads = parsed.data.payloads.map(fromJson);
    const decoded = await Promise.all(
      payloads.map((payload) => codec.decode([payload]).catch(() => [payload])),
    );
    return { payloads: decoded.flat().map(toJson) };
  };
}

/** Compares in constant time, whatever the lengths. */
export function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

type PayloadJson = z.infer<typeof payloadsSchema>['payloads'][number];

/** Protobuf's JSON form: bytes are base64. */
const fromJson = ({ metadata, data }: PayloadJson): Payload => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')]),
  ),
  data: Buffer.from(data ?? '', 'base64'),
});

const toJson = ({ metadata, data }: Payload): PayloadJson => ({
  metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([key, value]) => [key, base64(value)])),
  data: base64(data),
});

const base64 = (bytes: Uint8Array | null | undefined): string =>
  Buffer.from(bytes ?? new Uint8Array()).toString('base64');
