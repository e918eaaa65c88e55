import { defaultPayloadConverter } from '@temporalio/common';
import { encode } from '@temporalio/common/lib/encoding.js';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { expect, test } from 'vitest';
import { parseKeyRing } from '../../../src/lib/key-ring.ts';
import { createEncryptionCodec } from '../../../src/temporal/codec.ts';
import { createDataConverter } from '../../../src/temporal/data-converter.ts';
import { TEST_DATA_KEYS, testKeyRing } from '../../support/test-keys.ts';

const codec = createEncryptionCodec(testKeyRing());
const payload = defaultPayloadConverter.toPayload({
  firstName: 'Lieselotte',
  n: 1,
});

test('a payload is unreadable outside and comes back as it was', async () => {
  const [encrypted] = await codec.encode([payload]);
  const bytes = Buffer.concat([
    encrypted?.data ?? Buffer.alloc(0),
    ...Object.values(encrypted?.metadata ?? {}).map(
      (value) => value ?? Buffer.alloc(0),
    ),
  ]);
  expect(bytes.includes('Lieselotte')).toBe(false);
  expect(bytes.includes('json/plain')).toBe(false);
  const [decoded] = await codec.decode(
    encrypted === undefined ? [] : [encrypted],
  );
  expect(decoded && defaultPayloadConverter.fromPayload(decoded)).toEqual({
    firstName: 'Lieselotte',
    n: 1,
  });
});

test('a payload that is not encrypted is refused: only a mark comes through, and whatever waits for it fails', async () => {
  const foreign = {
    metadata: { encoding: encode('json/plain') },
    data: encode('"x"'),
  };
  for (const injected of [foreign, { data: encode('no metadata') }, {}]) {
    const [refused] = await codec.decode([injected]);
    const { payloadConverter } = loadDataConverter(
      createDataConverter(testKeyRing()),
    );
    await expect(
      Promise.resolve(payloadConverter.fromPayload(refused ?? {})),
    ).rejects.toMatchObject({
      type: 'PayloadNotEncrypted',
      nonRetryable: true,
    });
    expect(JSON.stringify(refused)).not.toContain(JSON.stringify(foreign.data));
  }
});

test('for the days of a migration, `accept-plain` among the keys lets it through', async () => {
  const migrating = createEncryptionCodec(
    parseKeyRing(`${TEST_DATA_KEYS} accept-plain`),
  );
  const foreign = {
    metadata: { encoding: encode('json/plain') },
    data: encode('"x"'),
  };
  expect(await migrating.decode([foreign])).toEqual([foreign]);
  const [encrypted] = await migrating.encode([payload]);
  expect(encrypted?.metadata?.encoding).not.toEqual(payload.metadata?.encoding);
});

test('histories from before a rotation stay readable, and an unknown key is named', async () => {
  const other = 'fresh:aGVsbG8gd29ybGQsIHRoaXMgaXMgYSBrZXkgb2YgMzI=';
  const encrypted = await codec.encode([payload]);
  const rotated = createEncryptionCodec(
    parseKeyRing(`${other} ${TEST_DATA_KEYS}`),
  );
  const [decoded] = await rotated.decode(encrypted);
  expect(decoded && defaultPayloadConverter.fromPayload(decoded)).toMatchObject(
    { n: 1 },
  );
  await expect(
    createEncryptionCodec(parseKeyRing(other)).decode(encrypted),
  ).rejects.toThrow('"test-1"');
});
