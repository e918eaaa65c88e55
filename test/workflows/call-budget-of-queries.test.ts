import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCallBudgets } from '../../src/exchange/sources/connectors/budgets.ts';
import { ada } from '../support/ada.ts';
import {
  bundle,
  connect,
  FakeSource,
  knowsAda,
} from '../support/fake-source.ts';
import {
  createTestExchange,
  type TestExchange,
} from './network-query-exchange.ts';

let exchange: TestExchange;
beforeAll(async () => {
  exchange = await createTestExchange();
});
afterAll(() => exchange.close());

const QUERIES = 20;

test('twenty queries of a source that allows 60 calls a minute all end, each after calls of its own only', async () => {
  const source = await new FakeSource({
    ...knowsAda,
    'GET Patient/p1/$everything': { json: bundle([]) },
  }).start();
  const callBudgets = createCallBudgets(exchange.store);
  exchange.let(
    'lab',
    connect(source, { source: 'lab', callsPerMinute: 60 }, { callBudgets }),
  );

  const requestIds = await Promise.all(
    Array.from({ length: QUERIES }, async () => {
      const { accountId } = exchange;
      const patientId = await exchange.addPatient(accountId, {}, ada);
      const requestId = await exchange.addQuery(accountId, patientId, ['lab']);
      exchange.service.launchQuery(accountId, { requestId, run: 0 });
      return requestId;
    }),
  );

  const ends = requestIds.map((requestId) =>
    expect
      .poll(async () => {
        const { attempts } = await exchange.outcome(
          exchange.accountId,
          requestId,
        );
        return attempts;
      })
      .toMatchObject([{ status: 'completed', attempt: 1 }]),
  );
  await Promise.all(ends);
  // A step that had begun again would have called again.
  expect(source.askedFor('POST Patient/$match')).toHaveLength(QUERIES);
  expect(source.askedFor('GET Patient/p1/$everything')).toHaveLength(QUERIES);
});
