import { expect, test } from 'vitest';
import { opaqueId } from '../../../src/temporal/client.ts';

test('an opaque id is stable, hides its value and differs by key and purpose', () => {
  const id = opaqueId('key-one-of-the-test', 'job', 'MRN-12345');
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(opaqueId('key-one-of-the-test', 'job', 'MRN-12345')).toBe(id);
  expect(opaqueId('key-two-of-the-test', 'job', 'MRN-12345')).not.toBe(id);
  expect(opaqueId('key-one-of-the-test', 'update', 'MRN-12345')).not.toBe(id);
  expect(opaqueId('k', 'ab', 'c')).not.toBe(opaqueId('k', 'a', 'bc'));
});
