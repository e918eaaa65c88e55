import { expect, test } from 'vitest';
import { DecryptionError, parseKeyRing } from '../../../src/lib/key-ring.ts';
import { createDataConverter } from '../../../src/temporal/data-converter.ts';
import { openText, sealText } from '../../../src/temporal/sealed-text.ts';
import { testKeyRing } from '../../support/test-keys.ts';

const converter = createDataConverter(testKeyRing());

test('a sealed text is readable only with the key', async () => {
  const sealed = await sealText(converter, 'Jane Smith’s records are late');
  expect(sealed).toMatch(/^sealed:[A-Za-z0-9+/=]+$/);
  expect(
    Buffer.from(sealed.slice(7), 'base64').toString('latin1'),
  ).not.toContain('Smith');
  expect(await openText(converter, sealed)).toBe(
    'Jane Smith’s records are late',
  );
  await expect(
    openText(
      createDataConverter(
        parseKeyRing(`other:${Buffer.alloc(32, 'other').toString('base64')}`),
      ),
      sealed,
    ),
  ).rejects.toThrow(DecryptionError);
});

test('a text that is not sealed, such as one of an earlier version, is read as it is', async () => {
  expect(await openText(converter, 'Source moves')).toBe('Source moves');
});
