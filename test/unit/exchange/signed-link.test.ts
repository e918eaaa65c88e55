import { describe, expect, test } from 'vitest';
import {
  CONSOLIDATED_LINK_HOURS,
  consolidatedDataUrl,
  createLinkMaker,
  signLink,
  verifyLink,
} from '../../../src/exchange/platform/links/signed-link.ts';

const KEY = 'a-key-for-the-tests-of-links';
const target = {
  accountId: '0198a000-0000-7000-8000-000000000001',
  targetId: '0198a000-0000-7000-8000-000000000002',
};

describe('a signed link', () => {
  test('names its target until it expires', () => {
    const token = signLink(KEY, 'consolidated', target, 1_000_000);
    expect(verifyLink(KEY, 'consolidated', token, new Date(999_999))).toEqual({
      kind: 'valid',
      ...target,
    });
    expect(
      verifyLink(KEY, 'consolidated', token, new Date(1_000_000)),
    ).toMatchObject({ kind: 'expired' });
  });

  test('is invalid under another key, in another spelling, and with anything added', () => {
    const token = signLink(KEY, 'consolidated', target, 2 ** 40);
    for (const [key, changed] of [
      ['another-key', token],
      [KEY, `${token}=`],
      [KEY, `${token}A`],
      [KEY, ''],
    ] as const) {
      expect(verifyLink(key, 'consolidated', changed, new Date(0))).toEqual({
        kind: 'invalid',
      });
    }
  });

  test('of one kind is none of another', () => {
    const token = signLink(KEY, 'bulk-result', target, 2 ** 40);
    expect(verifyLink(KEY, 'bulk-upload', token, new Date(0))).toEqual({
      kind: 'invalid',
    });
  });

  test('in a webhook lives as long as the webhook is tried', () => {
    const links = createLinkMaker('https://x.example.org', KEY);
    const patient = { accountId: target.accountId, patientId: target.targetId };
    const url = consolidatedDataUrl(links, patient, new Date(0));
    const token = url.split('/').at(-1) ?? '';
    const last = CONSOLIDATED_LINK_HOURS * 3_600_000 - 1;
    expect(verifyLink(KEY, 'consolidated', token, new Date(last)).kind).toBe(
      'valid',
    );
    expect(
      verifyLink(KEY, 'consolidated', token, new Date(last + 1)).kind,
    ).toBe('expired');
  });
});
