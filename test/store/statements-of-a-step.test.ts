import pg from 'pg';
import { expect } from 'vitest';
import { queryTest } from '../support/fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';

/** The statements, BEGIN and COMMIT included, that this process sends meanwhile. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const { query } = pg.Client.prototype;
  const sent: string[] = [];
  pg.Client.prototype.query = function (this: pg.Client, ...call: unknown[]) {
    sent.push(String(call[0]));
    return Reflect.apply(query, this, call) as never;
  } as typeof query;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query;
  }
  return sent;
}

queryTest(
  'a step on a source takes a known number of statements: for a page, and for all of it when nothing is new',
  async ({ account }) => {
    const patientId = await account.addPatient();
    const ask = async (...pages: string[][]) => {
      const requestId = await account.addQuery(patientId, ['lab']);
      const source = sourceOf(
        pages.map((ids) => page(ids.map((id) => observation(id)))),
      );
      const { askSource } = account.activities(source);
      return statementsOf(() =>
        runActivity(askSource, account.step(requestId, 'lab')),
      );
    };
    // The first one merges what is new.
    await ask(['o1', 'o2', 'o3']);
    const three = await ask(['o1'], ['o2'], ['o3']);
    const one = await ask(['o1', 'o2', 'o3']);

    const sent = three.join('\n');
    expect(three.length, sent).toBeLessThanOrEqual(25);
    // Each page: begin, its progress, its content, commit.
    expect(three.length - one.length, sent).toBe(8);
  },
);
