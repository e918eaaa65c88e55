import { defaultPayloadConverter } from '@temporalio/common';
import { encode } from '@temporalio/common/lib/encoding.js';
import { expect, test } from 'vitest';
import { parseKeyRing } from '../../../src/lib/key-ring.ts';
import { createEncryptionCodec } from '../../../src/temporal/codec.ts';
import { TEST_DATA_KEYS, testKeyRing } from '../../support/test-keys.ts';

const codec = createEncryptionCodec(testKeyRing());
const payload = defaultPayloadConverter.toPayload({ firstName: 'Lieselotte', n: 1 });

test('a payload is unreadable outside and comes back as it was', async () => {
  const [encrypted] = await codec.encode([payload]);
  const bytes = Buffer.concat([
    encrypted?.data ?? Buffer.alloc(0),
    ...Object.values(encrypted?.metadata ?? {}).map((value) => value ?? Buffer.alloc(0)),
  ]);
  expect(bytes.includes('Lieselotte')).toBe(false);
  expect(bytes.includes('json/plain')).toBe(false);
  const [decoded] = await codec.decode(encrypted === undefined ? [] : [encrypted]);
  expect(decoded && defaultPayloadConverter.fromPayload(decoded)).toEqual({ firstName: 'Lieselotte', n: 1 });
});

test('a payload in an encoding that is not ours passes through', async () => {
  const foreign = { metadata: { encoding: encode('json/plain') }, data: encode('"x"') };
  expect(await codec.decode([foreign])).toEqual([foreign]);
  expect(await codec.decode([{ data: encode('no metadata') }])).toEqual([{ data: encode('no metadata') }]);
});

test('histories from before a rotation stay readable, and an unknown key is named', async () => {
  const other = 'fresh:aGVsbG8gd29ybGQsIHRoaXMgaXMgYSBrZXkgb2YgMzI=';
  const encrypted = await codec.encode([payload]);
  const rotated = createEncryptionCodec(parseKeyRing(`${other} ${TEST_DATA_KEYS}`));
  const [decoded] = await rotated.decode(encrypted);
  expect(decoded && defaultPayloadConverter.fromPayload(decoded)).toMatchObject({ n: 1 });
  await expect(createEncryptionCodec(parseKeyRing(other)).decode(encrypted)).rejects.toThrow('"test-1"');
});
