import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/config.ts';
import { DecryptionError, parseKeyRing } from '../../../src/lib/key-ring.ts';
import { property } from '../../support/property.ts';

const key = () => randomBytes(32).toString('base64');

describe('key ring', () => {
  const oldKey = key();
  const ring = parseKeyRing(`old:${oldKey}`);
  const rotated = parseKeyRing(`new:${key()} old:${oldKey}`);

  property([fc.uint8Array({ maxLength: 4096 }), fc.string()])(
    'gives back what it took',
    (plain, purpose) => {
      expect(
        ring
          .decrypt(ring.encrypt(plain, purpose), purpose)
          .equals(Buffer.from(plain)),
      ).toBe(true);
    },
  );

  test('the same text encrypts differently each time', () => {
    expect(
      ring.encrypt(Buffer.from('x')).equals(ring.encrypt(Buffer.from('x'))),
    ).toBe(false);
  });

  test('after a rotation the new key encrypts and the old one still decrypts', () => {
    expect(
      rotated.decrypt(ring.encrypt(Buffer.from('before'))).toString(),
    ).toBe('before');
    expect(rotated.seal(Buffer.from('after')).keyId).toBe('new');
  });

  test('a key that is missing is named, with the variable to mend', () => {
    expect(() => ring.decrypt(rotated.encrypt(Buffer.from('x')))).toThrow(
      /DATA_KEYS does not hold: "new"/,
    );
  });

  test('a changed byte, another purpose or a cut is refused', () => {
    const encrypted = ring.encrypt(Buffer.from('secret'), 'blob');
    for (let at = 0; at < encrypted.length; at += 1) {
      const changed = Buffer.from(encrypted);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(() => ring.decrypt(changed, 'blob')).toThrow(DecryptionError);
      expect(() => ring.decrypt(encrypted.subarray(0, at), 'blob')).toThrow(
        DecryptionError,
      );
    }
    expect(() => ring.decrypt(encrypted, 'payload')).toThrow(DecryptionError);
  });

  test.each([
    ['', /contains no key/],
    ['only-an-id', /entry 1 must have the form/],
    [`a:${oldKey} b`, /entry 2 must have the form/],
    ['a:c2hvcnQ=', /"a" has 5 bytes/],
    [`a:${oldKey} a:${oldKey}`, /"a" appears twice/],
    [`a:${Buffer.alloc(32).toString('base64')}`, /"a" is not random/],
  ])('refuses DATA_KEYS %# without quoting a key', (text, message) => {
    expect(() => parseKeyRing(text)).toThrow(message);
    expect(() => parseKeyRing(text)).toThrow(ConfigError);
    expect(() => parseKeyRing(text)).not.toThrow(oldKey);
  });
});
