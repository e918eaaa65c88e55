import { describe, expect, it } from 'vitest';
import {
  CONSOLIDATED_LINK_HOURS,
  consolidatedDataUrl,
  signLink,
  verifyLink,
} from '../../../src/exchange/links/signed-link.ts';

const KEY = 'a-key-for-the-tests-of-links';
const target = {
  accountId: '0198a000-0000-7000-8000-000000000001',
  patientId: '0198a000-0000-7000-8000-000000000002',
};

describe('a signed link', () => {
  it('names its target until it expires', () => {
    const token = signLink(KEY, target, 1_000_000);
    expect(verifyLink(KEY, token, new Date(999_999))).toEqual({ kind: 'valid', ...target });
    expect(verifyLink(KEY, token, new Date(1_000_000))).toEqual({ kind: 'expired' });
  });

  it('is invalid under another key, in another spelling, and with anything added', () => {
    const token = signLink(KEY, target, 2 ** 40);
    for (const [key, changed] of [
      ['another-key', token],
      [KEY, `${token}=`],
      [KEY, `${token}A`],
      [KEY, ''],
    ] as const) {
      expect(verifyLink(key, changed, new Date(0))).toEqual({ kind: 'invalid' });
    }
  });

  it('in a webhook lives as long as the webhook is tried', () => {
    const url = consolidatedDataUrl('https://x.example.org', KEY, target, new Date(0));
    const token = url.split('/').at(-1) ?? '';
    const last = CONSOLIDATED_LINK_HOURS * 3_600_000 - 1;
    expect(verifyLink(KEY, token, new Date(last)).kind).toBe('valid');
    expect(verifyLink(KEY, token, new Date(last + 1)).kind).toBe('expired');
  });
});
