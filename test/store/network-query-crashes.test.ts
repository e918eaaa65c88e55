import { describe, expect } from 'vitest';
import type { SourceStep } from '../../src/contract/network-query-workflow.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import type { SourceConnector } from '../../src/exchange/sources/connectors/connector.ts';
import type { BlobStore } from '../../src/shared/blobs/blob-store.ts';
import { queryTest as test } from '../support/fixtures.ts';
import {
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';

/** The process dies here. */
class Crash extends Error {}
/**
 * Whether the process died, also within a step that describes what went wrong
 * in it.
 */
const isCrash = (error: unknown): boolean =>
  error instanceof Crash || (error instanceof Error && isCrash(error.cause));

/**
 * Store and blobs of a process that dies at the `point`-th of its steps: just
 * before or just after it took effect.
 */
function dyingAt(
  point: number,
  { store, blobs }: { store: Store; blobs: BlobStore },
) {
  let passed = 0;
  const dieHere = () => {
    if (passed++ === point) throw new Crash();
  };
  const dyingStore: Store = {
    ...store,
    async asAccount(accountId, work, options) {
      const toItsEnd: typeof work = async (tx) => {
        const value = await work(tx);
        dieHere();
        return value;
      };
      const result = await store.asAccount(accountId, toItsEnd, options);
      dieHere();
      return result;
    },
    async callAsAccount(accountId, statement) {
      dieHere();
      const rows = await store.callAsAccount(accountId, statement);
      dieHere();
      return rows;
    },
  };
  const dyingBlobs: BlobStore = {
    ...blobs,
    async put(...args) {
      dieHere();
      const blob = await blobs.put(...args);
      dieHere();
      return blob;
    },
  };
  return {
    store: dyingStore,
    blobs: dyingBlobs,
    survived: () => passed <= point,
  };
}

const attachment = {
  sourceDocumentId: 'd1',
  contentType: 'application/pdf',
  bytes: Buffer.from('%PDF'),
};
const pages = [
  page([observation('a'), observation('b')], {
    misattributedCount: 2,
    attachments: [attachment],
  }),
  page([observation('b', 'corrected'), observation('c')], {
    skippedAttachments: 1,
  }),
  page([observation('d')]),
];
const scripted = sourceOf(pages);
let asked: number;
const kinds: Record<string, Partial<SourceConnector>> = {
  'answers at once, in three pages': scripted,
  'takes the request and is polled': {
    begin: async () => ({ kind: 'accepted', job: { url: 'job-1' } }),
    poll: async (job) =>
      asked++ < 2
        ? { kind: 'pending', job }
        : { kind: 'ready', pages: scripted.pagesFrom(0) },
    resume: scripted.resume,
  },
  'does not know the patient': {
    begin: async () => ({ kind: 'unknown-patient' }),
  },
};

describe('a worker that dies at any point', () => {
  /**
   * What the workflow does for one source, with a worker that dies at `point`
   * and is started again.
   */
  async function collectWith(
    environment: QueryEnvironment,
    connector: Partial<SourceConnector>,
    point: number,
  ) {
    const { accountId } = await environment.addAccount();
    const patientId = await environment.addPatient(accountId);
    const requestId = await environment.addQuery(accountId, patientId, ['hie']);
    const step = stepOf(accountId, requestId, 'hie');
    const dying = dyingAt(point, environment);
    let worker = environment.activities(connector, dying);
    asked = 0;
    const untilDone = async (
      name: 'askSource' | 'collectSource',
    ): Promise<SourceStep> => {
      try {
        return await runActivity(worker[name], step);
      } catch (error) {
        if (!isCrash(error)) throw error;
        worker = environment.activities(connector);
        return runActivity(worker[name], step);
      }
    };
    let answer = await untilDone('askSource');
    while (answer.state === 'waiting')
      answer = await untilDone('collectSource');
    return {
      answer,
      survived: dying.survived(),
      outcome: await environment.outcome(accountId, requestId),
    };
  }

  test.for(Object.entries(kinds))(
    'leaves what one that lives does, when the source %s',
    async ([, connector], { environment }) => {
      const whole = await collectWith(
        environment,
        connector,
        Number.POSITIVE_INFINITY,
      );
      let points = 0;
      for (let survived = false; !survived; points++) {
        const run = await collectWith(environment, connector, points);
        const where = `died at point ${points}`;
        // An event that was committed unseen by the worker is reconcile's; all
        // else is the same.
        expect({ ...run.outcome, where }).toEqual({
          ...withKeysOf(run.outcome, whole.outcome),
          where,
        });
        expect(run.answer).toEqual(whole.answer);
        survived = run.survived;
      }
      expect(points).toBeGreaterThan(3);
    },
  );

  test('leaves one row per attempt, one event per fact, each resource once', async ({
    environment,
  }) => {
    const { outcome } = await collectWith(environment, scripted, 7);
    expect(outcome.attempts).toMatchObject([
      {
        attempt: 1,
        status: 'completed',
        pages: 3,
        resources: 5,
        strays: 2,
        documents: 1,
      },
    ]);
    expect(
      outcome.events.map(({ fact_key }) =>
        fact_key.replace(/[0-9a-f-]{36}/, 'id'),
      ),
    ).toEqual([
      'network-query.hie.first-data-ready/id',
      'network-query.hie/id/1',
    ]);
    expect(outcome.resources.map(({ source_id }) => source_id)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
    expect(outcome.told).toContain(
      'incomplete: 2 resources of other patients discarded',
    );
    expect(outcome.told).toContain(
      'incomplete: 1 document could not be fetched',
    );
    expect(outcome.status).toBe('completed');
  });
});

type Outcome = Awaited<ReturnType<QueryEnvironment['outcome']>>;

/** The expected outcome, with the fact keys of the query at hand. */
const withKeysOf = (run: Outcome, whole: Outcome): Outcome => ({
  ...whole,
  events: whole.events.map(({ fact_key }, index) => ({
    fact_key: fact_key.replace(
      /[0-9a-f-]{36}/,
      idIn(run.events[index]?.fact_key),
    ),
  })),
});

const idIn = (factKey = ''): string => /[0-9a-f-]{36}/.exec(factKey)?.[0] ?? '';
