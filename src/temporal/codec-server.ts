import { createHash, timingSafeEqual } from 'node:crypto';
import type { Payload } from '@temporalio/common';
import { fastify } from 'fastify';
import { z } from 'zod';
import type { KeyRing } from '../lib/key-ring.ts';
import { createEncryptionCodec } from './codec.ts';

export interface CodecServerOptions {
  keyRing: KeyRing;
  /**
   * Origins of the Temporal UI. Read for each request, because the UI may get
   * its port after this server has started.
   */
  allowedOrigins: () => readonly string[];
  /**
   * Unguessable first segment of the path; anyone who knows the address can
   * decode payloads.
   */
  pathSecret: string;
  host: string;
  /** 0 selects a free port. */
  port: number;
}

export type CodecServer = Awaited<ReturnType<typeof createCodecServer>>;

/**
 * Headers that UI 2.54 sends. Authorization-Extras contains the id token if the
 * UI is configured to pass its login on.
 */
const UI_HEADERS =
  'content-type, x-namespace, authorization, authorization-extras';
/** Temporal's largest message is 4 MB; base64 makes it a third larger. */
export const CODEC_BODY_BYTES_MAX = 6 * 1024 * 1024;

export const NO_PAYLOADS = { error: 'The body is not {"payloads": [...]}' };

const payloadsSchema = z.object({
  payloads: z.array(
    z.object({
      metadata: z.record(z.string(), z.string()).optional(),
      data: z.string().optional(),
    }),
  ),
});

/**
 * Decodes payloads for the Temporal UI: `POST /<secret>/decode`. (The UI
 * appends `?preserveStorageRefs=true`; we have no such references.) There is no
 * `/encode`, because input to workflows is never entered by hand. A payload
 * that cannot be decrypted is returned unchanged. Nothing is logged.
 */
export async function createCodecServer(options: CodecServerOptions) {
  const decode = createDecoder(options.keyRing);
  const app = fastify({
    logger: false,
    bodyLimit: CODEC_BODY_BYTES_MAX,
    exposeHeadRoutes: false,
  });

  app.addHook('onRequest', async (request, reply) => {
    const { secret } = request.params as { secret?: string };
    if (!isSameSecret(secret ?? '', options.pathSecret))
      return reply.callNotFound();
    const { origin } = request.headers;
    reply.headers({ 'cache-control': 'no-store', vary: 'Origin' });
    if (origin === undefined) return; // not a browser
    if (!options.allowedOrigins().includes(origin))
      return reply.code(403).send({
        error:
          'This origin is not allowed to decode payloads; see TEMPORAL_UI_URL',
      });
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
    });
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
    return reply.code(status).send({
      error: status < 500 ? 'The request cannot be read' : 'Internal error',
    });
  });

  const address = await app.listen({ host: options.host, port: options.port });
  return {
    /**
     * Value for the UI's `--ui-codec-endpoint` and the CLI's
     * `--codec-endpoint`. Contains the secret, so never log it.
     */
    endpoint: `${address}/${options.pathSecret}`,
    close: (): Promise<void> => app.close(),
  };
}

/**
 * Creates a function that decodes the body of a decode request. It returns
 * undefined for any other body, and leaves payloads unchanged that cannot be
 * decrypted.
 */
export function createDecoder(
  keyRing: KeyRing,
): (body: unknown) => Promise<unknown> {
  const codec = createEncryptionCodec(keyRing, { acceptsPlain: true });
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

/** Compares two strings of any length in constant time. */
export function isSameSecret(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

type PayloadJson = z.infer<typeof payloadsSchema>['payloads'][number];

/** Converts from Protobuf's JSON form, in which bytes are base64. */
const fromJson = ({ metadata, data }: PayloadJson): Payload => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64'),
    ]),
  ),
  data: Buffer.from(data ?? '', 'base64'),
});

const toJson = ({ metadata, data }: Payload): PayloadJson => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([key, value]) => [key, base64(value)]),
  ),
  data: base64(data),
});

const base64 = (bytes: Uint8Array | null | undefined): string =>
  Buffer.from(bytes ?? new Uint8Array()).toString('base64');
