import { afterAll, beforeAll, expect, test } from 'vitest';
import { tlsFailure } from '../../../src/exchange/sources/connectors/http/tls.ts';
import { createAuthority } from '../../support/authority.ts';

let authority: Awaited<ReturnType<typeof createAuthority>>;
beforeAll(async () => {
  authority = await createAuthority();
});
afterAll(() => authority.remove());

const DAY_MS = 86_400_000;
const error = (code: string) => Object.assign(new Error('refused'), { code });

test.each([
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED',
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ECONNRESET',
])(
  'our own certificate is named when it has expired or is not valid yet (%s)',
  async (code) => {
    const tls = await authority.issue('DNS:us.example.org');
    const failure = (atMs: number) =>
      tlsFailure({ source: 'hie', tls }, 'metadata', error(code), atMs);
    expect(failure(Date.now() + 10 * DAY_MS)).toMatchObject({
      kind: 'denied',
      message: expect.stringMatching(
        /^hie refuses our client certificate, which expired on 20\d\d-\d\d-\d\d/,
      ),
    });
    expect(failure(Date.now() - 10 * DAY_MS)?.message).toContain(
      'is valid only from',
    );
    expect(failure(Date.now() + 60_000)?.message ?? '').not.toContain(
      'expired on',
    );
    expect(
      tlsFailure({ source: 'hie', tls: {} }, 'metadata', error('ECONNRESET')),
    ).toBeUndefined();
  },
);
