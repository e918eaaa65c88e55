import { expect, test } from 'vitest';
import {
  DirectError,
  readRevocationList,
  revocationAddressesOf,
} from '../src/index.ts';
import { testAuthority } from './support/identities.ts';

const authority = testAuthority();
const other = testAuthority();
const lost = authority.identity(
  'lost',
  'DNS:direct.lost.example\ncrlDistributionPoints=URI:http://lists.example/1.crl,URI:ldap://lists.example/cn=1',
);
const kept = authority.identity('kept', 'DNS:direct.kept.example');

test('a list of openssl names what its authority has revoked, and until when it speaks', () => {
  const list = authority.revocationList('lost');
  const { revoked, nextUpdate } = readRevocationList(list, authority.anchor);

  expect(revoked.has(lost.certificate.serialNumber)).toBe(true);
  expect(revoked.has(kept.certificate.serialNumber)).toBe(false);
  expect(nextUpdate?.getTime()).toBeGreaterThan(Date.now());
  expect(
    readRevocationList(authority.revocationList(), authority.anchor).revoked,
  ).toEqual(new Set());
});

test('a list of another authority, or one that was changed, is not believed', () => {
  const list = authority.revocationList('lost');
  const codeOf = (bytes: Buffer, by = authority.anchor) => {
    try {
      const { revoked } = readRevocationList(bytes, by);
      return [...revoked].join();
    } catch (error) {
      if (!(error instanceof DirectError)) throw error;
      return error.code;
    }
  };

  expect(codeOf(list, other.anchor)).toBe('signature');
  for (let at = 0; at < list.length; at++) {
    const changed = Buffer.from(list);
    changed[at] = (changed[at] ?? 0) ^ 0x01;
    expect([
      'signature',
      'malformed',
      // A byte around what is signed.
      lost.certificate.serialNumber,
    ]).toContain(codeOf(changed));
  }
  for (let end = 0; end < list.length; end++)
    expect(codeOf(list.subarray(0, end))).toBe('malformed');
});

test('a certificate says where its revocation would be published', () => {
  expect(revocationAddressesOf(lost.certificate)).toEqual([
    'http://lists.example/1.crl',
  ]);
  expect(revocationAddressesOf(kept.certificate)).toEqual([]);
});
