import { Client, WithStartWorkflowOperation } from '@temporalio/client';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import {
  HISTORY_EVENTS_MAX,
  NETWORK_QUERY_MESSAGES,
} from '../../src/contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import {
  networkQueryWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import {
  ConflictError,
  type ExchangeError,
  NotFoundError,
  UnavailableError,
} from '../../src/exchange/platform/errors.ts';
import { SOURCE_RETRIES } from '../../src/exchange/queries/network-query/rules/retries.ts';
import { createNetworkQueryService } from '../../src/exchange/queries/network-query/service.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { CALLBACK_KEY } from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';
import { eventually } from './network-query-environment.ts';
import {
  busy,
  createTestExchange,
  refusing,
  type TestExchange,
} from './network-query-exchange.ts';

let exchange: TestExchange;
beforeAll(async () => {
  exchange = await createTestExchange();
});
afterAll(() => exchange.close());
beforeEach(() => {
  for (const source of SOURCE_TYPES) exchange.let(source, undefined);
});

const view = (requestId: string) =>
  exchange.view(exchange.accountId, requestId);
const untilEnded = (requestId: string) =>
  eventually(async () => (await view(requestId)).status !== 'running');
const untilAttempt = (requestId: string, source: string, status: string) =>
  eventually(async () =>
    (await view(requestId)).attempts.some(
      (each) => each.source === source && each.status === status,
    ),
  );
const untilClosed = (requestId: string, run = 0) =>
  eventually(
    async () =>
      (await exchange.handle(requestId, run).describe()).status.name !==
      'RUNNING',
  );
const untilAccepted = (requestId: string) =>
  eventually(async () =>
    (await exchange.timeline(exchange.accountId, requestId)).some(
      ({ kind }) => kind === 'accepted',
    ),
  );
const errorOf = async (work: Promise<unknown>): Promise<ExchangeError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (
    error instanceof ConflictError ||
    error instanceof NotFoundError ||
    error instanceof UnavailableError
  )
    return error;
  throw new Error('it was not refused', { cause: error });
};

const first = (source: SourceType) => ({ source, attempt: 1 });

describe('a query of three sources that answer at once', () => {
  test('costs at most 40 history events, however many resources come', async () => {
    const many = Array.from({ length: 300 }, (_, index) =>
      observation(`many-${index}`),
    );
    exchange.let(
      'hie',
      sourceOf([
        page(many.slice(0, 100)),
        page(many.slice(100, 200)),
        page(many.slice(200)),
      ]),
    );
    const requestId = await exchange.start(SOURCE_TYPES);
    await untilEnded(requestId);
    await untilClosed(requestId);
    const { events } = await exchange.handle(requestId).fetchHistory();
    console.log(
      `history events of a three-source query that succeeds at once: ${events?.length}`,
    );
    expect(events?.length).toBeLessThanOrEqual(40);
    expect(await view(requestId)).toMatchObject({ status: 'completed' });
  });

  test('says each source’s end by one webhook; Temporal’s own status says the rest', async () => {
    const requestId = await exchange.start(SOURCE_TYPES);
    await untilEnded(requestId);
    await eventually(() => exchange.eventsOf(requestId).length === 3);
    await untilClosed(requestId);
    const { searchAttributes } = await exchange.handle(requestId).describe();
    expect(searchAttributes).toMatchObject({
      RequestId: [requestId],
      Sources: ['hie', 'pharmacy', 'lab'],
    });
    expect(searchAttributes.QueryStatus).toBeUndefined();
  });
});

describe('trying a source again', () => {
  test('after the query has ended is a run of its own, a further attempt and a new event', async () => {
    exchange.let('hie', refusing);
    const requestId = await exchange.start(['hie', 'lab']);
    await untilEnded(requestId);
    await untilClosed(requestId);
    expect(await view(requestId)).toMatchObject({ status: 'partial' });

    exchange.let('hie', undefined);
    const retried = await exchange.service.retrySource(
      exchange.accountId,
      requestId,
      'hie',
    );
    expect(retried).toMatchObject({
      status: 'running',
      attempts: [
        { source: 'hie', attempt: 1, status: 'failed' },
        { source: 'hie', attempt: 2, run: 1, status: 'running' },
        { source: 'lab', attempt: 1, status: 'completed' },
      ],
    });
    await untilEnded(requestId);
    expect(await view(requestId)).toMatchObject({ status: 'completed' });
    await untilClosed(requestId, 1);
    await eventually(() => exchange.eventsOf(requestId).length === 3);
    const ends = exchange
      .eventsOf(requestId)
      .map(({ raw }) => JSON.parse(raw).payload.source);
    expect(
      ends.filter(({ type }) => type === 'hie').map(({ status }) => status),
    ).toEqual(['failed', 'completed']);
  });

  test('while the others run is a further attempt in the same run', async () => {
    exchange.let('hie', refusing);
    exchange.let('lab', busy);
    const requestId = await exchange.start(['hie', 'lab']);
    await untilAttempt(requestId, 'hie', 'failed');
    await untilAccepted(requestId);
    exchange.let('hie', undefined);
    await exchange.service.retrySource(exchange.accountId, requestId, 'hie');
    await untilAttempt(requestId, 'hie', 'completed');
    expect(await view(requestId)).toMatchObject({
      status: 'running',
      attempts: [
        { attempt: 1 },
        { attempt: 2, run: 0, status: 'completed' },
        { source: 'lab' },
      ],
    });
    await exchange.service.cancelQuery(exchange.accountId, requestId);
    await untilClosed(requestId);
  });

  test('of two sources at once makes two runs, and each is steered by its own', async () => {
    for (const source of ['hie', 'lab'] as const)
      exchange.let(source, refusing);
    const requestId = await exchange.start(['hie', 'lab']);
    await untilEnded(requestId);
    await untilClosed(requestId);
    for (const source of ['hie', 'lab'] as const) exchange.let(source, busy);
    await Promise.all([
      exchange.service.retrySource(exchange.accountId, requestId, 'hie'),
      exchange.service.retrySource(exchange.accountId, requestId, 'lab'),
    ]);
    await exchange.service.drain();
    await exchange.service.giveUpSource(exchange.accountId, requestId, 'hie');
    await exchange.service.giveUpSource(exchange.accountId, requestId, 'lab');
    expect(await view(requestId)).toMatchObject({ status: 'failed' });
    const { attempts } = await view(requestId);
    expect(attempts.filter(({ attempt }) => attempt === 2)).toMatchObject([
      { source: 'hie', reason: 'Given up on request' },
      { source: 'lab', reason: 'Given up on request' },
    ]);
  });

  test('that never started, because its limit was used up, is its first attempt', async () => {
    const { accountId } = await exchange.addAccount(
      { limits: { networkQueriesPerMinute: 0 } },
      exchange.receiver.url,
    );
    const patientId = await exchange.addPatient(accountId);
    const requestId = await exchange.addQuery(accountId, patientId, ['hie']);
    const before = await exchange.view(accountId, requestId);
    expect(before).toMatchObject({
      status: 'failed',
      attempts: [],
      errors: [{ httpStatus: 429 }],
    });
    expect(
      await exchange.service.retrySource(accountId, requestId, 'hie'),
    ).toMatchObject({
      status: 'running',
      attempts: [{ source: 'hie', attempt: 1, run: 0, status: 'running' }],
    });
    await eventually(
      async () =>
        (await exchange.view(accountId, requestId)).status === 'completed',
    );
  });

  test('is refused while it runs, when it has completed, and when nobody asked for it', async () => {
    exchange.let('hie', busy);
    const requestId = await exchange.start(['hie', 'lab']);
    await untilAttempt(requestId, 'lab', 'completed');
    const retry = (source: 'hie' | 'lab' | 'pharmacy') =>
      errorOf(
        exchange.service.retrySource(exchange.accountId, requestId, source),
      );
    expect(await retry('hie')).toMatchObject({
      status: 409,
      message: 'The hie source is still running',
    });
    expect(await retry('lab')).toMatchObject({
      status: 409,
      message: 'The lab source has completed',
    });
    expect(await retry('pharmacy')).toMatchObject({
      status: 409,
      message: 'The pharmacy source is not part of this query',
    });
    await exchange.service.cancelQuery(exchange.accountId, requestId);
  });

  test('is refused when it may not be asked: not enabled, or the patient has opted out', async () => {
    const { accountId } = await exchange.addAccount({
      sources: { hie: { enabled: true } },
    });
    const patientId = await exchange.addPatient(accountId, { hieOptOut: true });
    const requestId = await exchange.addQuery(accountId, patientId, [
      'hie',
      'lab',
    ]);
    const retry = (source: 'hie' | 'lab') =>
      errorOf(exchange.service.retrySource(accountId, requestId, source));
    expect(await retry('hie')).toMatchObject({
      status: 409,
      message: 'The patient has opted out of hie queries',
    });
    expect(await retry('lab')).toMatchObject({
      status: 409,
      message: 'Access to the lab source is not enabled for this account',
    });
    expect((await exchange.view(accountId, requestId)).attempts).toEqual([]);
  });

  test('of an unknown query, or of another account’s, finds none', async () => {
    const requestId = await exchange.start(['lab']);
    const other = await exchange.addAccount();
    await untilEnded(requestId);
    for (const [account, id] of [
      [exchange.accountId, uuidv7()],
      [other.accountId, requestId],
    ] as const) {
      for (const control of [
        () => exchange.service.retrySource(account, id, 'lab'),
        () => exchange.service.giveUpSource(account, id, 'lab'),
        () => exchange.service.cancelQuery(account, id),
      ]) {
        expect(await errorOf(control())).toMatchObject({
          status: 404,
          message: 'Network query not found',
        });
      }
    }
  });
});

describe('ending a query early', () => {
  test('one source: the others go on, and the source is told to stop', async () => {
    const cancelled: unknown[] = [];
    exchange.let('hie', {
      ...busy,
      cancel: async (job) => void cancelled.push(job),
    });
    const requestId = await exchange.start(['hie', 'lab']);
    await untilAccepted(requestId);
    const after = await exchange.service.giveUpSource(
      exchange.accountId,
      requestId,
      'hie',
    );
    expect(after.attempts).toMatchObject([
      { source: 'hie', status: 'failed', reason: 'Given up on request' },
      { source: 'lab' },
    ]);
    expect(cancelled).toEqual([{ url: 'job-1' }]);
    expect(
      await errorOf(
        exchange.service.giveUpSource(exchange.accountId, requestId, 'hie'),
      ),
    ).toMatchObject({
      status: 409,
      message: 'The hie source of this query is not running',
    });
    await untilEnded(requestId);
    expect(await view(requestId)).toMatchObject({ status: 'partial' });
  });

  test('all of it, once', async () => {
    for (const source of SOURCE_TYPES) exchange.let(source, busy);
    const requestId = await exchange.start(SOURCE_TYPES);
    await exchange.service.drain();
    const after = await exchange.service.cancelQuery(
      exchange.accountId,
      requestId,
    );
    expect(after).toMatchObject({ status: 'failed' });
    expect(after.attempts.map(({ reason }) => reason)).toEqual(
      Array(3).fill('Cancelled on request'),
    );
    expect(
      await errorOf(
        exchange.service.cancelQuery(exchange.accountId, requestId),
      ),
    ).toMatchObject({
      status: 409,
      message: 'The query has ended (failed); nothing is left to cancel',
    });
    await untilClosed(requestId);
    const { searchAttributes } = await exchange.handle(requestId).describe();
    expect(searchAttributes.QueryStatus).toEqual(['cancelled']);
    await eventually(() => exchange.eventsOf(requestId).length === 3);
  });

  test('by a command that comes with the start of its workflow', async () => {
    for (const source of ['hie', 'lab'] as const) exchange.let(source, busy);
    const requestId = await exchange.start(['hie', 'lab'], { launch: false });
    const { accountId, temporal } = exchange;
    const startWorkflowOperation = new WithStartWorkflowOperation(
      WORKFLOW_TYPES.networkQuery,
      {
        workflowId: networkQueryWorkflowId(requestId),
        taskQueue: TASK_QUEUES.exchange,
        workflowIdConflictPolicy: 'FAIL',
        args: [
          {
            accountId,
            requestId,
            run: 0,
            sources: (['hie', 'lab'] as const).map(first),
            steering: SOURCE_RETRIES,
            historyEventsMax: HISTORY_EVENTS_MAX,
          },
        ],
      },
    );
    await temporal.workflow.executeUpdateWithStart(
      NETWORK_QUERY_MESSAGES.cancelQuery,
      {
        startWorkflowOperation,
      },
    );
    expect(await view(requestId)).toMatchObject({
      status: 'failed',
      attempts: [
        { reason: 'Cancelled on request' },
        { reason: 'Cancelled on request' },
      ],
    });
  });

  test('of a query that nobody has started yet', async () => {
    exchange.let('lab', busy);
    const requestId = await exchange.start(['lab'], { launch: false });
    expect(
      await exchange.service.cancelQuery(exchange.accountId, requestId),
    ).toMatchObject({
      status: 'failed',
      attempts: [{ reason: 'Cancelled on request' }],
    });
  });

  test('of a query whose workflow was ended from outside', async () => {
    for (const source of ['hie', 'lab'] as const) exchange.let(source, busy);
    const requestId = await exchange.start(['hie', 'lab']);
    await untilAccepted(requestId);
    await exchange.handle(requestId).terminate('by hand');
    const one = await exchange.service.giveUpSource(
      exchange.accountId,
      requestId,
      'hie',
    );
    expect(one).toMatchObject({
      status: 'running',
      attempts: [{ status: 'failed' }, { status: 'running' }],
    });
    const all = await exchange.service.cancelQuery(
      exchange.accountId,
      requestId,
    );
    expect(all).toMatchObject({ status: 'failed' });
  });
});

describe('while Temporal cannot be reached', () => {
  async function withoutTemporal<R>(
    use: (service: TestExchange['service']) => Promise<R>,
  ): Promise<R> {
    const connection = await openConnection(
      { address: '127.0.0.1:1', connectTimeout: 500 },
      { lazy: true },
    );
    const service = createNetworkQueryService({
      store: exchange.store,
      temporal: new Client({ connection }),
      logger: pino({ level: 'silent' }),
      callbackKey: CALLBACK_KEY,
      commandTimeoutMs: 1_500,
    });
    return use(service).finally(async () => {
      await service.drain();
      await connection.close();
    });
  }
  /** As if it had been accepted a while ago. */
  const age = (
    requestId: string,
    column: 'requested_at' | 'workflow_started_at',
  ) =>
    exchange.store.asAccount(exchange.accountId, (tx) =>
      tx.db
        .updateTable('network_query_run')
        .set({ [column]: new Date(Date.now() - 3_600_000) })
        .where('query_id', '=', requestId)
        .execute(),
    );

  test('a query is accepted, and reconcile starts it later, once', async () => {
    const requestId = await exchange.start(['lab'], { launch: false });
    await withoutTemporal(async (service) =>
      service.launchQuery(exchange.accountId, { requestId, run: 0 }),
    );
    expect(await view(requestId)).toMatchObject({ status: 'running' });
    await age(requestId, 'requested_at');
    expect(await exchange.reconcile()).toBe(1);
    await untilEnded(requestId);
    expect(await view(requestId)).toMatchObject({ status: 'completed' });
    expect(await exchange.reconcile()).toBe(0);
  });

  test('steering a running query says so, and changes nothing', async () => {
    exchange.let('lab', busy);
    const requestId = await exchange.start(['lab']);
    await untilAccepted(requestId);
    const error = await withoutTemporal((service) =>
      errorOf(service.giveUpSource(exchange.accountId, requestId, 'lab')),
    );
    expect(error).toMatchObject({
      status: 503,
      options: { headers: { 'retry-after': '5' } },
    });
    expect(error.message).not.toMatch(/127|ECONN|gRPC/i);
    expect(await view(requestId)).toMatchObject({ status: 'running' });
    await exchange.service.cancelQuery(exchange.accountId, requestId);
  });

  test('a source of an ended query can be tried again; it starts when Temporal is back', async () => {
    exchange.let('lab', refusing);
    const requestId = await exchange.start(['lab']);
    await untilEnded(requestId);
    exchange.let('lab', undefined);
    await withoutTemporal((service) =>
      service.retrySource(exchange.accountId, requestId, 'lab'),
    );
    expect(await view(requestId)).toMatchObject({ status: 'running' });
    await age(requestId, 'requested_at');
    await exchange.reconcile();
    await untilEnded(requestId);
    expect(await view(requestId)).toMatchObject({
      status: 'completed',
      attempts: [{}, { attempt: 2 }],
    });
  });

  test('a workflow that was ended from outside leaves attempts that reconcile ends', async () => {
    exchange.let('hie', busy);
    const requestId = await exchange.start(['hie', 'lab']);
    await untilAccepted(requestId);
    await untilAttempt(requestId, 'lab', 'completed');
    await exchange.handle(requestId).terminate('by hand');
    await age(requestId, 'workflow_started_at');
    expect(await exchange.reconcile()).toBe(1);
    expect(await view(requestId)).toMatchObject({
      status: 'partial',
      attempts: [
        {
          status: 'failed',
          reason: 'The workflow of this query ended unexpectedly',
        },
        { status: 'completed' },
      ],
    });
    const { events } = await exchange.outcome(exchange.accountId, requestId);
    expect(events).toHaveLength(2);
  });
});
