import { MockAgent } from 'undici';
import { expect, test } from 'vitest';
import { createSmartDiscovery } from '../../../src/exchange/sources/connectors/http/auth/grant.ts';
import type { ResolvedSourceConfig } from '../../../src/exchange/sources/connectors/source-config.ts';

/** What becomes of the token endpoint that a FHIR server names. */
async function discovered(server: string, tokenUrl: string): Promise<string> {
  const agent = new MockAgent();
  agent.disableNetConnect();
  agent
    .get(new URL(server).origin)
    .intercept({ path: '/r4/.well-known/smart-configuration' })
    .reply(200, JSON.stringify({ token_endpoint: tokenUrl }), {
      headers: { 'content-type': 'application/json' },
    });
  const config = {
    source: 'hie',
    baseUrl: new URL(`${server}/r4/`),
    requestTimeoutSeconds: 5,
  } as unknown as ResolvedSourceConfig;
  const discover = createSmartDiscovery(config, {
    dispatcher: agent,
    now: Date.now,
  });
  return discover()
    .then((found) => found.tokenUrl)
    .catch((error: Error) => error.message)
    .finally(() => agent.close());
}

const PUBLIC = 'https://fhir.hospital.example.org';

test.each([
  'https://10.0.0.5/token',
  'https://169.254.169.254/latest',
  'https://localhost/token',
  'https://[::1]/token',
  'https://vault.internal/token',
])('a server on the internet cannot have us ask %s', async (tokenUrl) => {
  expect(await discovered(PUBLIC, tokenUrl)).toContain('in a private network');
});

test('another public server may be named, and a private one by a private one', async () => {
  const tokenUrl = 'https://login.example.org/token';
  expect(await discovered(PUBLIC, tokenUrl)).toBe(tokenUrl);
  const inside = 'https://10.0.0.5/token';
  expect(await discovered('https://10.0.0.4', inside)).toBe(inside);
});
