import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  createRecordActivities,
  createSourceActivities,
} from '../../src/activities/exchange/network-query.ts';
import type { SourceStepInput } from '../../src/contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { insertPatient } from '../../src/exchange/people/patients/patient-store.ts';
import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';
import { newContent } from '../../src/exchange/people/patients/rules/patient-content.ts';
import type { AccountSettings } from '../../src/exchange/platform/account.ts';
import {
  type AccountTx,
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { generateWebhookKey } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import type { DeferredAnswerStore } from '../../src/exchange/queries/network-query/deferred-answers.ts';
import type { Moments } from '../../src/exchange/queries/network-query/moment.ts';
import { prepareQuery } from '../../src/exchange/queries/network-query/prepare.ts';
import { readQuery } from '../../src/exchange/queries/network-query/query-store.ts';
import {
  noteIncomplete,
  readTimeline,
} from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import {
  createRecordKeeper,
  type RecordKeeper,
} from '../../src/exchange/records/record-keeper.ts';
import type { SourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import type { SourceConnector } from '../../src/exchange/sources/connectors/connector.ts';
import type { SourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import { createTestDatabase } from './postgres.ts';
import { sealedWebhookKey, testKeyRing } from './test-keys.ts';

export const CALLBACK_KEY = 'callback-key-of-the-tests-only';
const ALL_SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true },
  lab: { enabled: true },
};

/**
 * The exchange's store, blobs and activities with sources that a test scripts:
 * on a database and blobs of its own, or on given ones, which it leaves behind.
 */
export async function createQueryEnvironment(on?: {
  databaseUrl: string;
  blobFolder: string;
}) {
  const own = on === undefined ? await createTestDatabase() : undefined;
  const databaseUrl = on?.databaseUrl ?? own?.databaseUrl ?? '';
  const store = createStore({ databaseUrl, poolMax: 15 });
  const blobFolder =
    on?.blobFolder ?? join(tmpdir(), `network-query-test-${uuidv7()}`);
  const blobs = await openFileBlobStore(blobFolder, testKeyRing());
  const sent: string[] = [];
  store.onEventsCommitted(
    (_accountId, eventIds) => void sent.push(...eventIds),
  );

  return {
    databaseUrl,
    store,
    blobs,
    /** Ids of the events that were given to the webhook dispatcher. */
    sent,
    /** Activities as one run of a worker has them. */
    activities(
      connector: Partial<SourceConnector>,
      parts: {
        store?: Store;
        blobs?: typeof blobs;
        sourceHealth?: SourceHealth;
        connections?: SourceConnections;
        clock?: () => Date;
        records?: RecordKeeper;
        deferredAnswers?: DeferredAnswerStore;
        moments?: Moments;
      } = {},
    ) {
      const connectors = Object.fromEntries(
        SOURCE_TYPES.map((source) => [source, { ...unwilling, ...connector }]),
      ) as Record<SourceType, SourceConnector>;
      const deps = {
        store,
        blobs,
        sourceHealth: neverHeld,
        ...parts,
        connectors,
        callbackKey: CALLBACK_KEY,
      };
      const records =
        parts.records ??
        createRecordKeeper({
          store: deps.store,
          blobs: deps.blobs,
          converter: createCcdaConverter(),
          noteIncomplete,
        });
      return {
        ...createSourceActivities({
          ...deps,
          records,
          startGuard: createStartGuard(deps.store),
          callbackBaseUrl: () => 'https://exchange.example.org/callback',
        }),
        ...createRecordActivities(deps),
      };
    },
    async addAccount(
      settings: AccountSettings = {},
      webhookUrl = 'https://receiver.example.org/',
    ) {
      const accountId = uuidv7();
      const key = generateWebhookKey();
      await store.asSystem((tx) =>
        insertAccount(tx, {
          id: accountId,
          name: 'Test',
          settings: { sources: ALL_SOURCES, ...settings },
        }),
      );
      await store.asAccount(accountId, (tx) =>
        setDestination(tx, {
          id: uuidv7(),
          url: webhookUrl,
          key: sealedWebhookKey(key),
        }),
      );
      return { accountId, webhookKey: key };
    },
    async addPatient(
      accountId: string,
      { hieOptOut = false, facilityIds = [] as string[] } = {},
      demographics: Partial<Demographics> = {},
    ) {
      const patientId = uuidv7();
      const content = newContent(
        { ...person, ...demographics },
        { externalId: 'record-1', status: { hieOptOut } },
        facilityIds,
      );
      await store.asAccount(accountId, (tx) =>
        insertPatient(tx, patientId, content, []),
      );
      return patientId;
    },
    /** Writes a query as E2 does; its workflow is not started. */
    async addQuery(
      accountId: string,
      patientId: string,
      sources: readonly SourceType[],
    ) {
      const prepared = await store.asAccount(accountId, async (tx) => {
        const { rows } = await sql<{ settings: AccountSettings; opt: boolean }>`
          select a.settings, p.hie_opt_out as opt from account a, patient p
          where a.id = ${accountId} and p.id = ${patientId}`.execute(tx.db);
        const [row] = rows;
        if (row === undefined) throw new Error('no such account or patient');
        return prepareQuery(
          tx,
          {
            account: { settings: row.settings },
            patient: { id: patientId, hieOptOut: row.opt },
            request: {
              sources: sources.map((source) => ({ source, realtime: false })),
              metadata: { jobId: 'job-1' },
            },
            purposeOfUse: 'treatment',
            origin: 'interactive',
          },
          CALLBACK_KEY,
        );
      });
      return prepared.requestId;
    },
    view: (accountId: string, requestId: string) =>
      store.asAccount(accountId, async (tx) => {
        const query = await readQuery(tx, requestId);
        if (query === undefined) throw new Error('the query is gone');
        return query;
      }),
    timeline: (accountId: string, requestId: string) =>
      store.asAccount(accountId, (tx) => readTimeline(tx, requestId)),
    /**
     * What outlives the process and must come out the same whatever befell it.
     */
    outcome: (accountId: string, requestId: string) =>
      store.asAccount(accountId, async (tx) => ({
        attempts: await tx.db
          .selectFrom('network_query_attempt')
          .select([
            'source',
            'attempt',
            'status',
            'will_retry',
            'pages',
            'resources',
            'strays',
            'documents',
          ])
          .where('query_id', '=', requestId)
          .orderBy('source')
          .orderBy('attempt')
          .execute(),
        status: (await readQuery(tx, requestId))?.status,
        events: await tx.db
          .selectFrom('event')
          .select('fact_key')
          .where('request_id', '=', requestId)
          .orderBy('fact_key')
          .execute(),
        documents: await tx.db
          .selectFrom('document')
          .select(['source', 'kind', 'sha256', 'size_bytes'])
          .where('query_id', '=', requestId)
          .orderBy('sha256')
          .execute(),
        resources: await tx.db
          .selectFrom('patient_resource as r')
          .innerJoin('network_query as q', 'q.patient_id', 'r.patient_id')
          .select(['r.source', 'resource_type', 'source_id', 'sha256'])
          .where('q.id', '=', requestId)
          .orderBy('r.source')
          .orderBy('source_id')
          .execute(),
        told: (await readTimeline(tx, requestId))
          .map(({ kind, message }) => `${kind}: ${message}`)
          .sort(),
      })),
    async close() {
      await store.close();
      await own?.drop();
      if (own !== undefined)
        await rm(blobFolder, { recursive: true, force: true });
    },
  };
}

export type QueryEnvironment = Awaited<
  ReturnType<typeof createQueryEnvironment>
>;

/**
 * The environment with one account, which may ask for as many queries as a file
 * does.
 */
export async function createQueryAccount(environment: QueryEnvironment) {
  const { accountId } = await environment.addAccount({
    limits: { networkQueriesPerMinute: 100_000 },
  });
  type Rest =
    Parameters<typeof environment.addPatient> extends [string, ...infer Others]
      ? Others
      : never;
  return {
    ...environment,
    accountId,
    addPatient: (...rest: Rest) => environment.addPatient(accountId, ...rest),
    addQuery: (patientId: string, sources: readonly SourceType[]) =>
      environment.addQuery(accountId, patientId, sources),
    step: (requestId: string, source: SourceType, attempt?: number) =>
      stepOf(accountId, requestId, source, attempt),
    inTx: <T>(work: (tx: AccountTx) => Promise<T>) =>
      environment.store.asAccount(accountId, work),
    view: (requestId: string) => environment.view(accountId, requestId),
    timeline: (requestId: string) => environment.timeline(accountId, requestId),
    outcome: (requestId: string) => environment.outcome(accountId, requestId),
  };
}

export type QueryAccount = Awaited<ReturnType<typeof createQueryAccount>>;

export const stepOf = (
  accountId: string,
  requestId: string,
  source: SourceType,
  attempt = 1,
) =>
  ({ accountId, requestId, run: 0, source, attempt }) satisfies SourceStepInput;

/** Runs an activity as its `call`-th call. */
export const runActivity = <I, O>(
  activity: (input: I) => Promise<O>,
  input: I,
  call = 1,
): Promise<O> =>
  new MockActivityEnvironment(
    { attempt: call },
    { logger: new DefaultLogger('ERROR') },
  ).run(activity, input);

/**
 * Lets every call through: most tests let one source fail for many queries,
 * which would open its breaker.
 */
const neverHeld: SourceHealth = {
  admit: async () => ({ mayCall: true }),
  answered: async () => undefined,
  failed: async () => undefined,
};

export const unwilling: SourceConnector = {
  begin: () => Promise.reject(new Error('nobody asks for this')),
  poll: () => Promise.reject(new Error('nobody polls this')),
  resume: () => {
    throw new Error('nobody goes on with this');
  },
  checkMissing: async ({ missing }) => missing.map(() => 'kept' as const),
  cancel: () => Promise.reject(new Error('nobody cancels this')),
};

const person = {
  firstNames: ['Tamica'],
  lastNames: ['Murazik'],
  dob: '1980-04-01',
  gender: 'F' as const,
  addresses: [
    {
      addressLine1: '1 Main St',
      city: 'Boston',
      state: 'MA',
      zip: '02116',
      country: 'USA' as const,
    },
  ],
  contacts: [],
  personalIdentifiers: [],
};
