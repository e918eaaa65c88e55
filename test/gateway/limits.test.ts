import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AccountSettings } from '../../src/exchange/platform/account.ts';
import {
  createTestGateway,
  newPerson,
  type TestGateway,
} from '../support/gateway.ts';

let first: TestGateway;
let second: TestGateway;
beforeAll(async () => {
  first = await createTestGateway();
  second = await createTestGateway({ store: first.store });
});
afterAll(() => Promise.all([first.close(), second.close()]));

/**
 * An account of its own with patients; `post` goes to one gateway and to the
 * other by turns.
 */
async function accountWith(limits: AccountSettings['limits'], patients = 1) {
  const account = await first.addAccount({ settings: { limits } });
  const ids: string[] = [];
  while (ids.length < patients) {
    const url = `patient?facilityId=${account.facilityId}`;
    ids.push((await account.call('POST', url, newPerson())).json().id);
  }
  let turn = 0;
  const post = (path: string, payload: object = {}) =>
    (turn++ % 2 === 0 ? first : second).app.inject({
      method: 'POST',
      url: `/medical/v1/${path}`,
      headers: { 'x-api-key': account.apiKey },
      payload,
    });
  return { ids, post };
}

/**
 * Repeats a round that the turn of the minute, at which counts begin anew, has
 * fallen into.
 */
async function withinOneMinute<R>(round: () => Promise<R>): Promise<R> {
  for (;;) {
    const minute = Math.floor(Date.now() / 60_000);
    const result = await round();
    if (Math.floor(Date.now() / 60_000) === minute) return result;
  }
}

describe('the limit of consolidated starts', () => {
  test('is counted over all gateways and answered with 429, Retry-After and its own RateLimit headers', async () => {
    const answers = await withinOneMinute(async () => {
      const { ids, post } = await accountWith({
        consolidatedQueriesPerMinute: 5,
      });
      return Promise.all(
        Array.from({ length: 9 }, () =>
          post(`patient/${ids[0]}/consolidated/query`),
        ),
      );
    });
    const refused = answers.filter(({ statusCode }) => statusCode !== 200);
    expect(refused.map(({ statusCode }) => statusCode)).toEqual([
      429, 429, 429, 429,
    ]);
    for (const { headers, json } of refused) {
      expect(json()).toMatchObject({
        name: 'TOO_MANY_REQUESTS',
        detail: expect.stringMatching(/^Rate limit of 5 /),
      });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(headers['ratelimit-policy']).toBe('"consolidated-query";q=5;w=60');
      expect(headers.ratelimit).toBe(
        `"consolidated-query";r=0;t=${headers['retry-after']}`,
      );
    }
  });

  test('holds nothing else of the account back, nor another account', async () => {
    const { ids, post } = await accountWith({
      consolidatedQueriesPerMinute: 0,
    });
    expect(
      (await post(`patient/${ids[0]}/consolidated/query`)).statusCode,
    ).toBe(429);
    const answer = await post('patient/match', newPerson());
    expect([answer.statusCode, answer.headers['ratelimit-policy']]).toEqual([
      404,
      '"requests";q=1200;w=60',
    ]);
    const other = await accountWith({});
    expect(
      (await other.post(`patient/${other.ids[0]}/consolidated/query`))
        .statusCode,
    ).toBe(200);
  });
});

describe('the limit of network queries of a source', () => {
  test('is counted by source over all gateways; what is above is an entry in errors, and the rest starts', async () => {
    const answers = await withinOneMinute(async () => {
      const { ids, post } = await accountWith(
        { networkQueriesPerMinute: 3 },
        6,
      );
      const lab = { lab: { enabled: true } };
      const both = { ...lab, hie: { enabled: true } };
      return Promise.all(
        ids.map((id, index) =>
          post(`network/query?patientId=${id}`, {
            sources: index < 2 ? both : lab,
          }),
        ),
      );
    });
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(
      Array.from(answers, () => 200),
    );
    const errors = answers.flatMap((answer) => answer.json().errors ?? []);
    expect(errors).toHaveLength(3);
    for (const error of errors)
      expect(error).toMatchObject({ source: 'lab', httpStatus: 429 });
    const started = answers.flatMap((answer) =>
      answer.json().sources.map(({ type }: { type: string }) => type),
    );
    expect(started.sort()).toEqual(['hie', 'hie', 'lab', 'lab', 'lab']);
  });
});
