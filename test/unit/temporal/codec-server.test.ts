import { defaultPayloadConverter } from '@temporalio/common';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEncryptionCodec } from '../../../src/temporal/codec.ts';
import {
  type CodecServer,
  createCodecServer,
} from '../../../src/temporal/codec-server.ts';
import { testKeyRing } from '../../support/test-keys.ts';

const UI = 'http://127.0.0.1:8233';
const SECRET = 'a-path-nobody-can-guess';
const DECODE = 'decode?preserveStorageRefs=true';

describe('codec server', () => {
  let server: CodecServer;
  beforeAll(async () => {
    server = await createCodecServer({
      keyRing: testKeyRing(),
      allowedOrigins: () => [UI],
      pathSecret: SECRET,
      host: '127.0.0.1',
      port: 0,
    });
  });
  afterAll(() => server.close());

  const post = (
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ) =>
    request(`${server.endpoint}/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-namespace': 'default',
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const base64 = (bytes: Uint8Array | null | undefined) =>
    Buffer.from(bytes ?? []).toString('base64');
  const encrypted = async (value: unknown) => {
    const [payload] = await createEncryptionCodec(testKeyRing()).encode([
      defaultPayloadConverter.toPayload(value),
    ]);
    const metadata = Object.entries(payload?.metadata ?? {}).map(
      ([key, bytes]) => [key, base64(bytes)],
    );
    return {
      metadata: Object.fromEntries(metadata),
      data: base64(payload?.data),
    };
  };

  test('the UI reads what workers encrypted', async () => {
    const plain = {
      metadata: { encoding: base64(Buffer.from('json/plain')) },
      data: base64(Buffer.from('1')),
    };
    const answer = await post(
      DECODE,
      { payloads: [await encrypted({ status: 'waiting' }), plain] },
      { origin: UI },
    );
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe(UI);
    expect(answer.headers['cache-control']).toBe('no-store');
    const { payloads } = (await answer.body.json()) as {
      payloads: { data: string }[];
    };
    expect(
      payloads.map(({ data }) => Buffer.from(data, 'base64').toString()),
    ).toEqual(['{"status":"waiting"}', '1']);
  });

  test('a payload that does not decrypt comes back as it is and spoils no other', async () => {
    const foreign = await encrypted('x');
    foreign.metadata['encryption-key-id'] = base64(Buffer.from('gone'));
    const answer = await post(DECODE, {
      payloads: [foreign, await encrypted('fine')],
    });
    const { payloads } = (await answer.body.json()) as {
      payloads: { data: string }[];
    };
    expect(payloads[0]).toEqual(foreign);
    expect(Buffer.from(payloads[1]?.data ?? '', 'base64').toString()).toBe(
      '"fine"',
    );
  });

  test('the preflight of the UI is answered with the headers it sends', async () => {
    const answer = await request(`${server.endpoint}/${DECODE}`, {
      method: 'OPTIONS',
      headers: {
        origin: UI,
        'access-control-request-method': 'POST',
        'access-control-request-headers':
          'authorization,authorization-extras,content-type,x-namespace',
      },
    });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': UI,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers':
        'content-type, x-namespace, authorization, authorization-extras',
      'access-control-allow-credentials': 'true',
    });
  });

  test.each(['https://evil.example', 'http://127.0.0.1:8234', 'null'])(
    'a page of %s gets nothing',
    async (origin) => {
      for (const method of ['OPTIONS', 'POST'] as const) {
        const answer = await request(`${server.endpoint}/${DECODE}`, {
          method,
          headers: { origin },
        });
        expect(answer.statusCode).toBe(403);
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
        await answer.body.dump();
      }
    },
  );

  test('without the secret there is nothing here, and encoding is not offered', async () => {
    const { origin } = new URL(server.endpoint);
    for (const path of [
      '/decode',
      '/wrong/decode',
      `/${SECRET}`,
      `/${SECRET}/encode`,
      `/${SECRET}/download`,
    ]) {
      const answer = await request(`${origin}${path}`, { method: 'POST' });
      expect(answer.statusCode, path).toBe(404);
      expect(await answer.body.text()).not.toContain(SECRET);
    }
  });

  test.each([{}, { payloads: 'x' }, { payloads: [{ data: 1 }] }, null])(
    'a body %j is a 400',
    async (body) => {
      const answer = await post(DECODE, body);
      expect(answer.statusCode).toBe(400);
      await answer.body.dump();
    },
  );

  test('a body that is too large or no JSON is refused without an echo', async () => {
    const large = await post(DECODE, {
      payloads: [{ data: 'A'.repeat(7 * 1024 * 1024) }],
    });
    expect(large.statusCode).toBe(413);
    await large.body.dump();
    const text = await request(`${server.endpoint}/${DECODE}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{Lieselotte',
    });
    expect(text.statusCode).toBe(400);
    expect(await text.body.text()).not.toContain('Lieselotte');
  });
});
