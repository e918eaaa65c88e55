import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { createSourceActivities } from '../../src/activities/exchange/network-query.ts';
import { webhookEventSchema } from '../../src/contract/events.ts';
import type { IdentityVerifiedEvent } from '../../src/contract/identity.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { createIdentityPartner } from '../../src/exchange/people/identity/partner.ts';
import {
  createLinkMaker,
  signLink,
} from '../../src/exchange/platform/links/signed-link.ts';
import { generateWebhookKey } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import type { SourceConnector } from '../../src/exchange/sources/connectors/connector.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { freePort } from '../../src/lib/free-port.ts';
import {
  createTestGateway,
  newPerson,
  TEST_LINK_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { runActivity } from '../support/network-query-environment.ts';
import {
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';
import { sealedWebhookKey } from '../support/test-keys.ts';

const SECRET = generateWebhookKey();
const HOUR_MS = 3_600_000;
const REDIRECT = 'https://app.example.org/back?tab=records';

let simulator: TestSimulator;
let gateway: TestGateway;
let account: TestAccount;
let baseUrl: string;
/** Milliseconds by which the exchange's clock is ahead. */
let aheadMs = 0;
const clock = () => new Date(Date.now() + aheadMs);

beforeAll(async () => {
  simulator = await startTestSimulator({
    identitySecret: SECRET,
  });
  const port = await freePort();
  baseUrl = `http://127.0.0.1:${port}`;
  gateway = await createTestGateway({
    publicBaseUrl: baseUrl,
    links: createLinkMaker(baseUrl, TEST_LINK_KEY),
    identityPartner: createIdentityPartner({
      baseUrl: `${simulator.url}/identity`,
      secret: SECRET,
    }),
    identitySecret: SECRET,
    clock,
  });
  await gateway.app.listen({ host: '127.0.0.1', port });
  account = await gateway.addAccount();
  await gateway.store.asAccount(account.accountId, (tx) =>
    setDestination(tx, {
      id: uuidv7(),
      url: 'https://receiver.example.org/',
      key: sealedWebhookKey(),
    }),
  );
});
afterAll(async () => {
  await gateway.close();
  await simulator.close();
});
beforeEach(async () => {
  aheadMs = 0;
  await simulator.admin.changePartners({
    identity: { outcome: 'verified', callbacks: 1, down: false },
  });
});

async function addPatient(of = account): Promise<string> {
  const body = { ...newPerson(), externalId: 'record-7' };
  return (
    await of.call('POST', `patient?facilityId=${of.facilityId}`, body)
  ).json().id;
}

const openSession = async (patientId: string, changes: object = {}) =>
  (
    await account.call('POST', 'identity/session', {
      patientId,
      redirectUrl: REDIRECT,
      ...changes,
    })
  ).json();

/** Where a person lands who presses the button on the partner's page. */
async function pass(
  pageUrl: string,
  outcome: 'verified' | 'failed' = 'verified',
): Promise<URL> {
  const pressed = await request(pageUrl, {
    method: 'POST',
    body: `outcome=${outcome}`,
  });
  await pressed.body.dump();
  const returned = await request(String(pressed.headers.location));
  await returned.body.dump();
  expect(returned.statusCode).toBe(303);
  return new URL(String(returned.headers.location));
}

async function tell(
  content: object,
  { secret = SECRET } = {},
): Promise<number> {
  const body = JSON.stringify(content);
  const now = new Date();
  const answer = await gateway.app.inject({
    method: 'POST',
    url: '/identity/callback',
    payload: body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('msg_1', now, body),
    },
  });
  return answer.statusCode;
}

const eventsOf = (patientId: string) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    tx.db
      .selectFrom('event')
      .selectAll()
      .where('patient_id', '=', patientId)
      .execute(),
  );

/** A patient whose identity is verified, from its webhook. */
async function verified(): Promise<{
  patientId: string;
  proofedIdentityId: string;
}> {
  const patientId = await addPatient();
  await pass((await openSession(patientId)).sessionUrl);
  const [event] = await eventsOf(patientId);
  const { payload } = webhookEventSchema.parse(
    event?.body,
  ) as IdentityVerifiedEvent;
  return { patientId, proofedIdentityId: payload.proofedIdentityId };
}

async function activeSession() {
  const identity = await verified();
  const { proofedIdentityId } = identity;
  const challenge = await account.call('POST', 'identity/aal2/challenge', {
    proofedIdentityId,
    redirectUrl: REDIRECT,
  });
  const aal2SessionId =
    (await pass(challenge.json().challengeUrl)).searchParams.get(
      'aal2SessionId',
    ) ?? '';
  return { ...identity, aal2SessionId };
}

const queryAs = (
  {
    patientId,
    proofedIdentityId,
    aal2SessionId,
  }: Record<string, string | undefined>,
  of = account,
) =>
  of.call(
    'POST',
    `network/query?patientId=${patientId}&purposeOfUse=ias`,
    { sources: { hie: { enabled: true } }, proofedIdentityId },
    aal2SessionId === undefined ? {} : { 'x-aal2-session': aal2SessionId },
  );

describe('identity session', () => {
  test('a verified person is sent back to the caller, which gets a webhook', async () => {
    const patientId = await addPatient();
    const session = await openSession(patientId, { metadata: { job: '7' } });
    expect(session).toMatchObject({
      sessionId: expect.any(String),
      status: 'pending',
    });
    expect(Date.parse(session.expiresAt)).toBeGreaterThan(
      Date.now() + 6 * 24 * HOUR_MS,
    );

    const page = await request(session.sessionUrl);
    expect(await page.body.text()).toContain('<form method="post">');
    const landed = await pass(session.sessionUrl);
    expect(landed.origin).toBe('https://app.example.org');
    expect(Object.fromEntries(landed.searchParams)).toEqual({
      tab: 'records',
      sessionId: session.sessionId,
      status: 'verified',
    });

    const [event, ...others] = await eventsOf(patientId);
    expect(others).toEqual([]);
    expect(webhookEventSchema.parse(event?.body)).toMatchObject({
      meta: {
        type: 'ias.identity.verified',
        requestId: session.sessionId,
        data: { job: '7' },
      },
      payload: {
        patientId,
        externalId: 'record-7',
        sessionId: session.sessionId,
        status: 'verified',
      },
    });
  });

  test('a person verified as another one, or not verified, is not the patient', async () => {
    for (const outcome of ['somebody-else', 'failed'] as const) {
      await simulator.admin.changePartners({ identity: { outcome } });
      const patientId = await addPatient();
      const landed = await pass((await openSession(patientId)).sessionUrl);
      expect(landed.searchParams.get('status')).toBe('failed');
      expect(await eventsOf(patientId)).toEqual([]);
    }
  });

  test('an outcome that the partner repeats is announced to the caller once', async () => {
    await simulator.admin.changePartners({ identity: { callbacks: 3 } });
    const { patientId } = await verified();
    expect(await eventsOf(patientId)).toHaveLength(1);
  });

  test('only the partner’s signed word counts: a browser that comes before it waits', async () => {
    await simulator.admin.changePartners({ identity: { callbacks: 0 } });
    const { sessionUrl } = await openSession(await addPatient());
    const pressed = await request(sessionUrl, {
      method: 'POST',
      body: 'outcome=verified',
    });
    await pressed.body.dump();
    const waiting = await request(String(pressed.headers.location));
    expect(waiting.statusCode).toBe(200);
    expect(waiting.headers.refresh).toBe('2');
    await waiting.body.dump();
    aheadMs = 7 * 24 * HOUR_MS;
    const over = await request(String(pressed.headers.location));
    await over.body.dump();
    expect(
      new URL(String(over.headers.location)).searchParams.get('status'),
    ).toBe('failed');
  });

  test('a person whose link has expired, or is unknown, reads what to do', async () => {
    const target = { accountId: account.accountId, targetId: uuidv7() };
    for (const kind of ['identity-session', 'aal2-challenge'] as const)
      for (const [validUntil, status, text] of [
        [Date.now() - 1000, 410, 'This link has expired; request a new one.'],
        [Date.now() + HOUR_MS, 404, 'not found.'],
      ] as const) {
        const path = `/links/${kind}/${signLink(TEST_LINK_KEY, kind, target, validUntil)}`;
        const { statusCode, headers, body } = await gateway.app.inject(path);
        expect([statusCode, headers['content-type']]).toEqual([
          status,
          'text/html; charset=utf-8',
        ]);
        expect(body).toContain(text);
        expect(body).toContain(
          'ask the organization that sent you here for a new link',
        );
      }
  });

  test('callbacks that are not signed, not known, not readable or too late change nothing', async () => {
    const patientId = await addPatient();
    const { sessionId: reference } = await openSession(patientId);
    const person = { firstName: 'Pat', lastName: 'Sample', dob: '1980-04-05' };
    const told = { type: 'session.verified', reference, subject: 's', person };
    expect(await tell(told, { secret: generateWebhookKey() })).toBe(401);
    expect(await tell({ ...told, reference: uuidv7() })).toBe(404);
    expect(await tell({ ...told, subject: '' })).toBe(400);
    aheadMs = 7 * 24 * HOUR_MS;
    expect(await tell(told)).toBe(410);
    expect(await eventsOf(patientId)).toEqual([]);
  });

  test.each([
    'javascript:alert(1)',
    'http://app.example.org/back',
    'http://127.0.0.1:3000/back',
    'myapp://back',
    'https://user:word@app.example.org/',
    'https://app.example.org/#x',
    'nowhere',
  ])('refuses to send a person to %s', async (redirectUrl) => {
    const body = { patientId: await addPatient(), redirectUrl };
    const answer = await account.call('POST', 'identity/session', body);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors).toMatchObject([{ path: 'redirectUrl' }]);
  });

  test('another account’s patient is unknown', async () => {
    const patientId = await addPatient(await gateway.addAccount());
    const answer = await account.call('POST', 'identity/session', {
      patientId,
      redirectUrl: REDIRECT,
    });
    expect(answer.statusCode).toBe(404);
  });

  test('nothing is kept of a session that the partner could not open', async () => {
    await simulator.admin.changePartners({ identity: { down: true } });
    const patientId = await addPatient();
    const answer = await account.call('POST', 'identity/session', {
      patientId,
      redirectUrl: REDIRECT,
    });
    expect(answer.statusCode).toBe(503);
    const kept = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('identity_session')
        .select('id')
        .where('patient_id', '=', patientId)
        .execute(),
    );
    expect(kept).toEqual([]);
  });
});

describe('who missed the outcome', () => {
  const read = async (path: string, of = account) =>
    of.call('GET', `identity/${path}`);
  const openChallenge = async (proofedIdentityId: string) =>
    (
      await account.call('POST', 'identity/aal2/challenge', {
        proofedIdentityId,
        redirectUrl: REDIRECT,
      })
    ).json();

  test('asks for a session: pending, verified with the identity of the webhook, failed with why, expired', async () => {
    const patientId = await addPatient();
    const { sessionId, sessionUrl, expiresAt } = await openSession(patientId);
    const pending = { sessionId, patientId, status: 'pending', expiresAt };
    expect((await read(`session/${sessionId}`)).json()).toEqual(pending);
    aheadMs = 7 * 24 * HOUR_MS;
    expect((await read(`session/${sessionId}`)).json()).toEqual({
      ...pending,
      status: 'expired',
    });
    aheadMs = 0;
    await pass(sessionUrl);
    const [event] = await eventsOf(patientId);
    const { payload } = webhookEventSchema.parse(
      event?.body,
    ) as IdentityVerifiedEvent;
    const { proofedIdentityId, verifiedAt } = payload;
    expect((await read(`session/${sessionId}`)).json()).toEqual({
      ...pending,
      status: 'verified',
      proofedIdentityId,
      verifiedAt,
    });
    await simulator.admin.changePartners({
      identity: { outcome: 'somebody-else' },
    });
    const other = await openSession(patientId);
    await pass(other.sessionUrl);
    expect((await read(`session/${other.sessionId}`)).json()).toMatchObject({
      status: 'failed',
      reason: 'The verified person is not this patient',
    });
  });

  test('asks for a challenge: its session is the one that the browser brought, as long as it is active', async () => {
    const { proofedIdentityId, patientId } = await verified();
    const { challengeId, challengeUrl, expiresAt } =
      await openChallenge(proofedIdentityId);
    const pending = { challengeId, status: 'pending', expiresAt };
    expect((await read(`aal2/challenge/${challengeId}`)).json()).toEqual(
      pending,
    );
    const brought = (await pass(challengeUrl)).searchParams.get(
      'aal2SessionId',
    );
    const passed = await read(`aal2/challenge/${challengeId}`);
    expect(passed.json()).toMatchObject({
      status: 'verified',
      aal2SessionId: brought,
    });
    expect(passed.headers['cache-control']).toBe('no-store');
    const aal2SessionId = passed.json().aal2SessionId;
    expect(
      (await queryAs({ patientId, proofedIdentityId, aal2SessionId }))
        .statusCode,
    ).toBe(200);
    aheadMs = 12.1 * HOUR_MS;
    expect(
      (await read(`aal2/challenge/${challengeId}`)).json(),
    ).not.toHaveProperty('aal2SessionId');
    aheadMs = 0;
    const failing = await openChallenge(proofedIdentityId);
    await pass(failing.challengeUrl, 'failed');
    const failed = (await read(`aal2/challenge/${failing.challengeId}`)).json();
    expect(failed).toMatchObject({
      status: 'failed',
      reason: expect.any(String),
    });
    expect(failed).not.toHaveProperty('aal2SessionId');
  });

  test('finds nothing of another account, nor what never was', async () => {
    const { sessionId } = await openSession(await addPatient());
    const { challengeId } = await openChallenge(
      (await verified()).proofedIdentityId,
    );
    const other = await gateway.addAccount();
    const asked = [
      await read(`session/${sessionId}`, other),
      await read(`session/${uuidv7()}`),
      await read(`aal2/challenge/${challengeId}`, other),
      await read(`aal2/challenge/${uuidv7()}`),
    ];
    expect(asked.map(({ statusCode }) => statusCode)).toEqual(
      asked.map(() => 404),
    );
    expect((await read('session/nonsense')).statusCode).toBe(400);
  });
});

describe('AAL2 challenge', () => {
  test('passed, it comes back with a session, the same each time the page is opened', async () => {
    const { proofedIdentityId } = await verified();
    const challenge = await account.call('POST', 'identity/aal2/challenge', {
      proofedIdentityId,
      redirectUrl: REDIRECT,
    });
    expect(challenge.json()).toMatchObject({
      challengeId: expect.any(String),
      method: 'otp',
    });
    const landed = await pass(challenge.json().challengeUrl);
    expect(landed.searchParams.get('status')).toBe('verified');
    const sessionId = landed.searchParams.get('aal2SessionId');
    expect(sessionId).toMatch(/^aal2_\S{40,}$/);
    expect(
      (await pass(challenge.json().challengeUrl)).searchParams.get(
        'aal2SessionId',
      ),
    ).toBe(sessionId);
  });

  test('failed, it comes back without one', async () => {
    const { proofedIdentityId } = await verified();
    const challenge = await account.call('POST', 'identity/aal2/challenge', {
      proofedIdentityId,
      redirectUrl: REDIRECT,
    });
    const landed = await pass(challenge.json().challengeUrl, 'failed');
    expect(Object.fromEntries(landed.searchParams)).toEqual({
      tab: 'records',
      status: 'failed',
    });
  });

  test('an identity that was never verified, or belongs to another account, is unknown', async () => {
    const { proofedIdentityId } = await verified();
    const other = await gateway.addAccount();
    for (const [of, id] of [
      [account, uuidv7()],
      [other, proofedIdentityId],
    ] as const) {
      const body = { proofedIdentityId: id, redirectUrl: REDIRECT };
      expect(
        (await of.call('POST', 'identity/aal2/challenge', body)).statusCode,
      ).toBe(404);
    }
  });
});

describe('network query with purpose ias', () => {
  test('starts with an active session of the patient’s verified identity', async () => {
    const answer = await queryAs(await activeSession());
    expect(answer.statusCode, answer.body).toBe(200);
    expect(answer.json()).toMatchObject({
      status: 'processing',
      sources: [{ type: 'hie' }],
    });
    expect(gateway.launched).toContain(answer.json().requestId);
  });

  test('names what is missing: header, proofedIdentityId or both', async () => {
    const shown = await activeSession();
    const paths = async (of: Record<string, string | undefined>) => {
      const answer = await queryAs(of);
      expect(answer.statusCode).toBe(400);
      return answer.json().errors.map(({ path }: { path: string }) => path);
    };
    expect(await paths({ ...shown, aal2SessionId: undefined })).toEqual([
      'x-aal2-session',
    ]);
    expect(await paths({ ...shown, proofedIdentityId: undefined })).toEqual([
      'proofedIdentityId',
    ]);
    expect(await paths({ patientId: shown.patientId })).toEqual([
      'proofedIdentityId',
      'x-aal2-session',
    ]);
  });

  test('a session that is unknown, another person’s or another account’s is refused', async () => {
    const shown = await activeSession();
    const others = await activeSession();
    const stranger = await gateway.addAccount();
    const refused = [
      await queryAs({ ...shown, aal2SessionId: 'aal2_unknown' }),
      await queryAs({ ...shown, proofedIdentityId: 'no-such-identity' }),
      await queryAs({ ...shown, aal2SessionId: others.aal2SessionId }),
      await queryAs({ ...shown, proofedIdentityId: others.proofedIdentityId }),
      await queryAs({ ...others, patientId: shown.patientId }),
      await queryAs(
        { ...shown, patientId: await addPatient(stranger) },
        stranger,
      ),
    ];
    expect(refused.map(({ statusCode }) => statusCode)).toEqual(
      refused.map(() => 403),
    );
  });

  test('a session lasts twelve hours', async () => {
    const shown = await activeSession();
    aheadMs = 11.9 * HOUR_MS;
    expect((await queryAs(shown)).statusCode).toBe(200);
    aheadMs = 12.1 * HOUR_MS;
    expect((await queryAs(shown)).statusCode).toBe(403);
  });

  test('a source that would be asked after the session’s end is not asked, and the timeline says why', async () => {
    const shown = await activeSession();
    const { requestId } = (await queryAs(shown)).json();
    const asked: string[] = [];
    const connector = {
      begin: async () => {
        asked.push('begun');
        return { kind: 'accepted', job: { id: 'job' } };
      },
    } as unknown as SourceConnector;
    const { askSource } = createSourceActivities({
      store: gateway.store,
      blobs: gateway.blobs,
      records: { merge: async () => undefined } as never,
      connectors: { hie: connector, pharmacy: connector, lab: connector },
      callbackBaseUrl: () => undefined,
      callbackKey: TEST_LINK_KEY,
      startGuard: createStartGuard(gateway.store),
      sourceHealth: createSourceHealth(gateway.store),
      clock,
    });
    const step = {
      accountId: account.accountId,
      requestId,
      run: 0,
      source: 'hie' as const,
      attempt: 1,
    };
    aheadMs = 12.1 * HOUR_MS;
    await expect(runActivity(askSource, step)).rejects.toMatchObject({
      type: 'SourceRefused',
      nonRetryable: true,
      message: expect.stringContaining(
        'AAL2 session of this query has expired',
      ),
    });
    expect(asked).toEqual([]);
    const { timeline } = (
      await account.call('GET', `network/query/${requestId}/timeline`)
    ).json();
    expect(timeline.at(-1)).toMatchObject({
      kind: 'call-failed',
      message: expect.stringContaining('has expired'),
    });
    aheadMs = 0;
    expect(await runActivity(askSource, step)).toMatchObject({
      state: 'waiting',
    });
    expect(asked).toEqual(['begun']);
  });
});
