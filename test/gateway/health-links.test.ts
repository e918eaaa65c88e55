import { compactDecrypt } from 'jose';
import { SHLViewer } from 'kill-the-clipboard';
import { sql } from 'kysely';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
  vi,
} from 'vitest';
import { healthLinksFeature } from '../../src/exchange/delivery/health-links/feature.ts';
import { readDisclosures } from '../../src/exchange/operations/audit/disclosure-store.ts';
import type { Platform } from '../../src/exchange/platform/platform.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';
import { TEST_BASE_URL } from '../support/gateway.ts';
import { withholdLabels } from '../support/withhold.ts';
import { consentBody } from './every-operation/cases/consents.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');
const person = personOf(sample);

let door: FhirDoor;
let key: string;
let address: string;
let patientId: string;
beforeAll(async () => {
  door = await createFhirDoor();
  key = await door.addKey(door.accountId, ['read', 'write']);
  address = await door.gateway.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => door.close());
beforeEach(async () => {
  patientId = await door.addPatient(person);
  const condition = {
    resourceType: 'Condition',
    id: 'c',
    subject: { reference: 'Patient/p' },
    code: { text: 'Zebra disease' },
  };
  await door.deliver(patientId, 'hie', [delivery('hie', condition)], ['p']);
});

interface Made {
  id: string;
  link: string;
  viewerUrl: string;
  qrCode: string;
  expiresAt: string;
}
async function make(body: object = {}): Promise<Made> {
  const answer = await medical(
    'POST',
    `patient/${patientId}/health-link`,
    body,
  );
  expect(answer.statusCode, answer.body).toBe(201);
  return answer.json();
}
const medical = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  payload?: object,
) =>
  door.gateway.app.inject({
    method,
    url: `/medical/v1/${path}`,
    headers: { 'x-api-key': key },
    payload,
  });

interface Payload {
  url: string;
  key: string;
  exp: number;
  flag?: string;
  label?: string;
}
const payloadOf = (link: string): Payload =>
  JSON.parse(Buffer.from(link.replace('shlink:/', ''), 'base64url').toString());
const pathOf = (link: string): string =>
  payloadOf(link).url.slice(TEST_BASE_URL.length);

/** A published client, which knows nothing of ours. */
const viewer = (link: string) =>
  new SHLViewer({
    shlinkURI: link,
    fetch: (url, init) =>
      fetch(String(url).replace(TEST_BASE_URL, address), init),
  });
const resolved = async (
  link: string,
  more: { passcode?: string; embeddedLengthMax?: number } = {},
) => {
  const { fhirResources } = await viewer(link).resolveSHL({
    recipient: 'Dr. Rossi',
    ...more,
  });
  return JSON.stringify(fhirResources);
};
/** Of a link whose address is its manifest. */
const post = (link: string, payload: object = { recipient: 'R' }) =>
  door.gateway.app.inject({ method: 'POST', url: pathOf(link), payload });
const statusOf = async (id: string) => {
  const { healthLinks } = (
    await medical('GET', `patient/${patientId}/health-link`)
  ).json();
  return healthLinks.find((each: Made) => each.id === id);
};

describe('a published client of SMART Health Links', () => {
  test('resolves a link: the manifest, and the document, embedded or at an address of its own', async () => {
    const { link, viewerUrl, qrCode, expiresAt } = await make({
      label: 'For the clinic',
    });
    expect(payloadOf(link)).toMatchObject({
      flag: 'L',
      label: 'For the clinic',
      exp: Math.floor(Date.parse(expiresAt) / 1000),
    });
    expect(payloadOf(link).url.length).toBeLessThanOrEqual(128);
    expect(viewerUrl).toBe(`${TEST_BASE_URL}/shl/view#${link}`);
    expect(qrCode).toContain('<svg');
    expect(await resolved(link)).toContain('Zebra disease');
    expect(await resolved(link, { embeddedLengthMax: 0 })).toContain(
      'Zebra disease',
    );
    expect(await resolved(link, { embeddedLengthMax: 100 })).toContain(
      'Zebra disease',
    );
  });

  test('resolves a link for one time once, with and without a passcode', async () => {
    const plain = await make({ isOneTime: true });
    const asked = await make({ isOneTime: true, passcode: 'tulip-43' });
    expect([payloadOf(plain.link).flag, payloadOf(asked.link).flag]).toEqual([
      undefined,
      'P',
    ]);
    expect(await resolved(plain.link)).toContain('Zebra disease');
    await expect(resolved(plain.link)).rejects.toThrow('not found');
    expect(
      await resolved(asked.link, {
        passcode: 'tulip-43',
        embeddedLengthMax: 0,
      }),
    ).toContain('Zebra disease');
    await expect(
      resolved(asked.link, { passcode: 'tulip-43' }),
    ).rejects.toThrow('not found');
    expect([
      (await statusOf(plain.id)).status,
      (await statusOf(asked.id)).status,
    ]).toEqual(['used', 'used']);
  });

  test('of twenty that open a link for one time at once, one gets it', async () => {
    const { link } = await make({ isOneTime: true });
    const quickly = { recipient: 'R', embeddedLengthMax: 0 };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(link, quickly)),
    );
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
      200,
      ...Array(19).fill(404),
    ]);
  });

  test('reads what has been delivered since the link was made', async () => {
    const { link } = await make();
    const later = {
      resourceType: 'Condition',
      id: 'd',
      subject: { reference: 'Patient/p' },
      code: { text: 'Okapi fever' },
    };
    await door.deliver(patientId, 'hie', [delivery('hie', later)], ['p']);
    expect(await resolved(link)).toContain('Okapi fever');
  });
});

describe('a passcode', () => {
  test('that is wrong is counted, and five wrong ones end the link for good', async () => {
    const { id, link } = await make({ passcode: 'tulip-43' });
    expect(payloadOf(link).flag).toBe('LP');
    expect(await resolved(link, { passcode: 'tulip-43' })).toContain('Zebra');
    for (const remainingAttempts of [4, 3, 2, 1, 0]) {
      const answer = await post(link, {
        recipient: 'R',
        passcode: `wrong-${remainingAttempts}`,
      });
      expect([answer.statusCode, answer.json().remainingAttempts]).toEqual([
        401,
        remainingAttempts,
      ]);
    }
    for (const passcode of ['wrong', 'tulip-43'])
      expect((await post(link, { recipient: 'R', passcode })).statusCode).toBe(
        404,
      );
    expect((await statusOf(id)).status).toBe('locked');
  });

  test('that is guessed at the same time is not guessed more often', async () => {
    const { link } = await make({ passcode: 'tulip-43' });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        post(link, { recipient: 'R', passcode: `wrong-${n}` }),
      ),
    );
    const statuses = answers.map(({ statusCode }) => statusCode).sort();
    expect(statuses).toEqual([...Array(5).fill(401), ...Array(15).fill(404)]);
  });

  test('is stored as a hash, and neither the secret of the address nor the key is stored', async () => {
    const { id, link } = await make({ passcode: 'tulip-43' });
    const { key: fileKey, url } = payloadOf(link);
    const row = await door.store.asAccount(door.accountId, async ({ db }) => {
      const { rows } = await sql<{
        text: string;
      }>`select h::text as text from health_link h where id = ${id}`.execute(
        db,
      );
      return rows[0]?.text ?? '';
    });
    for (const text of ['tulip-43', fileKey, url.slice(-43)])
      for (const form of [
        text,
        Buffer.from(text).toString('hex'),
        Buffer.from(text, 'base64url').toString('hex'),
      ])
        expect(row).not.toContain(form);
  });
});

describe('a link that does not open', () => {
  test('says the same to everybody: unknown, expired, revoked, or with an address of another kind', async () => {
    const expired = await make();
    const revoked = await make();
    await door.store.asSystem(({ db }) =>
      sql`update health_link set expires_at = now() where id = ${expired.id}`.execute(
        db,
      ),
    );
    const answer = await medical(
      'POST',
      `patient/${patientId}/health-link/${revoked.id}/revoke`,
    );
    expect([answer.statusCode, answer.json().status]).toEqual([200, 'revoked']);
    const unknown = (url: string) =>
      door.gateway.app.inject({
        method: 'POST',
        url,
        payload: { recipient: 'R' },
      });
    const answers = [
      await post(expired.link),
      await post(revoked.link),
      await unknown(`/shl/${'A'.repeat(43)}`),
      await unknown('/shl/x'),
      await unknown('/shl/%00'),
    ];
    const said = answers.map(({ statusCode, json }) => [
      statusCode,
      json().detail,
    ]);
    expect(new Set(said.map(String)).size).toBe(1);
    expect(said[0]).toEqual([
      404,
      'There is no such health link, or it has ended',
    ]);
    expect([
      (await statusOf(expired.id)).status,
      (await statusOf(revoked.id)).status,
    ]).toEqual(['expired', 'revoked']);
  });

  test('is refused without a recipient, and with a body that is none', async () => {
    const { link } = await make({ isOneTime: true });
    for (const body of [
      {},
      { recipient: ' ' },
      { recipient: 3 },
      { recipient: 'x'.repeat(201) },
      { recipient: 'R', embeddedLengthMax: -1 },
    ])
      expect((await post(link, body)).statusCode, JSON.stringify(body)).toBe(
        400,
      );
    expect(await resolved(link)).toContain('Zebra');
  });

  test('after a denial is one that was made before it; what carries a denied label is not in any', async () => {
    const before = await make();
    const consent = await medical(
      'POST',
      `patient/${patientId}/consent`,
      consentBody({ provision: { type: 'deny' } }),
    );
    expect(consent.statusCode, consent.body).toBe(201);
    expect((await post(before.link)).statusCode).toBe(404);
    const { link } = await make();
    expect(await resolved(link)).toContain('Zebra');
    await medical(
      'POST',
      `patient/${patientId}/consent/${consent.json().id}/end`,
    );
    expect((await post(before.link)).statusCode).toBe(200);

    const labelled = {
      resourceType: 'Condition',
      id: 'e',
      subject: { reference: 'Patient/p' },
      code: { text: 'Quagga' },
      meta: {
        security: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
            code: 'R',
          },
        ],
      },
    };
    await door.deliver(patientId, 'hie', [delivery('hie', labelled)], ['p']);
    expect(await resolved(link)).toContain('Quagga');
    await withholdLabels(door.store, door.accountId, ['R']);
    expect(await resolved(link)).not.toContain('Quagga');
    await withholdLabels(door.store, door.accountId, []);
  });

  test('ends with its patient', async () => {
    const { link } = await make();
    expect(
      (await medical('DELETE', `patient/${patientId}`)).statusCode,
    ).toBeLessThan(300);
    expect((await post(link)).statusCode).toBe(404);
  });

  test('is of a key that has changed since', async () => {
    const { id, link } = await make();
    await door.store.asSystem(({ db }) =>
      sql`update health_link set key_sha256 = sha256('other') where id = ${id}`.execute(
        db,
      ),
    );
    expect((await post(link)).statusCode).toBe(404);
  });

  test('was opened ten times in a minute', async () => {
    const { link } = await make();
    for (let n = 0; n < 10; n++)
      expect(
        (await post(link, { recipient: 'R', embeddedLengthMax: 0 })).statusCode,
      ).toBe(200);
    const answer = await post(link);
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([
      429,
      '60',
    ]);
  });
});

describe('who opens one link many times at once', () => {
  const documents = () => vi.spyOn(door.gateway.app.requestShares, 'take');

  test('gets ten a minute, and no document is made for the others', async () => {
    const { link } = await make({ passcode: 'tulip-43' });
    const made = documents();
    const answers = await Promise.all(
      Array.from({ length: 60 }, () =>
        post(link, { recipient: 'R', passcode: 'tulip-43' }),
      ),
    );
    const statuses = answers.map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    for (const status of statuses) expect([200, 429, 503]).toContain(status);
    expect(made).toHaveBeenCalledTimes(10);
    made.mockRestore();
  });

  test('reads a file once, and one document is made', async () => {
    const { link } = await make();
    const manifest = await post(link, { recipient: 'R', embeddedLengthMax: 0 });
    const url = String(manifest.json().files[0].location);
    const made = documents();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        door.gateway.app.inject({ url: url.slice(TEST_BASE_URL.length) }),
      ),
    );
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
      200,
      ...Array(19).fill(404),
    ]);
    expect(made).toHaveBeenCalledTimes(1);
    made.mockRestore();
  });
});

describe('a file', () => {
  test('at an address of its own is fetched once, with the link that named it, encrypted for its key only', async () => {
    const one = await make();
    const other = await make();
    const { files } = (
      await post(one.link, { recipient: 'R', embeddedLengthMax: 0 })
    ).json();
    const url = String(files[0].location).slice(TEST_BASE_URL.length);
    const get = (path: string) =>
      door.gateway.app.inject({ method: 'GET', url: path });
    const borrowed = url.replace(pathOf(one.link), pathOf(other.link));
    expect((await get(borrowed)).statusCode).toBe(404);
    const answer = await get(url);
    expect(answer.headers['content-type']).toBe('application/jose');
    const { protectedHeader } = await compactDecrypt(
      answer.body,
      Buffer.from(payloadOf(one.link).key, 'base64url'),
    );
    expect(protectedHeader).toEqual({
      alg: 'dir',
      enc: 'A256GCM',
      cty: 'application/fhir+json',
    });
    await expect(
      compactDecrypt(
        answer.body,
        Buffer.from(payloadOf(other.link).key, 'base64url'),
      ),
    ).rejects.toThrow();
    expect((await get(url)).statusCode).toBe(404);
  });

  test('of a link that was revoked since its manifest is not given', async () => {
    const { id, link } = await make();
    const { files } = (
      await post(link, { recipient: 'R', embeddedLengthMax: 0 })
    ).json();
    await medical('POST', `patient/${patientId}/health-link/${id}/revoke`);
    const answer = await door.gateway.app.inject({
      method: 'GET',
      url: String(files[0].location).slice(TEST_BASE_URL.length),
    });
    expect(answer.statusCode).toBe(404);
  });

  test('can be fetched by the page of another origin', async () => {
    const { link } = await make();
    const asked = await door.gateway.app.inject({
      method: 'OPTIONS',
      url: pathOf(link),
    });
    expect([
      asked.statusCode,
      asked.headers['access-control-allow-origin'],
      asked.headers['access-control-allow-headers'],
    ]).toEqual([204, '*', 'content-type']);
    expect((await post(link, {})).headers['access-control-allow-origin']).toBe(
      '*',
    );
  });
});

describe('who opened a link', () => {
  test('is in its list, in the disclosures and the audit, refused openings in the audit', async () => {
    const { id, link } = await make({ passcode: 'tulip-43' });
    await post(link, { recipient: 'Nobody', passcode: 'wrong-1' });
    await resolved(link, { passcode: 'tulip-43' });
    expect((await statusOf(id)).openings).toEqual([
      { openedAt: expect.any(String), recipient: 'Dr. Rossi' },
    ]);
    const period = {
      from: new Date(0),
      to: new Date(Date.now() + 60_000),
      limit: 20,
      readOperations: [],
    };
    const rows = await door.store.asAccount(door.accountId, (tx) =>
      readDisclosures(tx, patientId, period),
    );
    expect(rows).toMatchObject([
      {
        door: 'health link',
        recipient: 'Dr. Rossi',
        what: 'openHealthLink',
        targetId: id,
        remoteAddress: '127.0.0.1',
      },
    ]);
    const { rows: audited } = await door.store.asAccount(
      door.accountId,
      ({ db }) =>
        sql<{
          outcome: string;
          own: boolean;
        }>`select outcome, target_id = ${id} as own from audit_entry
        where operation = 'openHealthLink' and actor = 'link'`.execute(db),
    );
    expect(audited).toContainEqual({ outcome: '200', own: true });
    // Many of a kind are one entry.
    expect(audited.map(({ outcome }) => outcome)).toContain('401');
  });

  test('is kept for six years after the link has ended', async () => {
    const { id, link } = await make();
    await post(link);
    const [removal] = healthLinksFeature.open({
      store: door.store,
    } as Platform).recoveries;
    const age = async (interval: string) => {
      const query = sql`update health_link set expires_at = now() - ${interval}::interval where id = ${id}`;
      await door.store.asSystem(({ db }) => query.execute(db));
      const signal = new AbortController().signal;
      await removal?.takeUp({ limit: 100, signal, recheckBefore: new Date() });
    };
    await age('5 years 11 months');
    expect(await statusOf(id)).toMatchObject({ status: 'expired' });
    await age('6 years 1 day');
    expect(await statusOf(id)).toBeUndefined();
  });
});
