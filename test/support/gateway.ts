import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { insertApiKey } from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import { createGateway } from '../../src/exchange/create-gateway.ts';
import { createDocumentRenditions } from '../../src/exchange/delivery/documents/renditions.ts';
import type { GatewayDeps } from '../../src/exchange/features.ts';
import { createUploadReceiver } from '../../src/exchange/people/bulk-create/service.ts';
import { insertFacility } from '../../src/exchange/people/facilities/facility-store.ts';
import type {
  AccountSettings,
  Dialect,
} from '../../src/exchange/platform/account.ts';
import type {
  EventsCommitted,
  Store,
} from '../../src/exchange/platform/database/database.ts';
import {
  createErasures,
  type Erasures,
} from '../../src/exchange/platform/erasure/erasures.ts';
import { ConflictError } from '../../src/exchange/platform/errors.ts';
import { createResponseSeal } from '../../src/exchange/platform/http/idempotency-store.ts';
import { createLinkMaker } from '../../src/exchange/platform/links/signed-link.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { createDeferredAnswers } from '../../src/exchange/queries/network-query/deferred-answers.ts';
import { prepareQuery } from '../../src/exchange/queries/network-query/prepare.ts';
import {
  listQueries,
  readQuery,
} from '../../src/exchange/queries/network-query/query-store.ts';
import { startQuery } from '../../src/exchange/queries/network-query/service.ts';
import {
  noteIncomplete,
  readTimeline,
} from '../../src/exchange/queries/network-query/timeline-store.ts';
import { readSweepCounts } from '../../src/exchange/queries/sweep/sweep-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import type { BlobStore } from '../../src/shared/blobs/blob-store.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import { createTestStore, type TestStore } from './postgres.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from './test-keys.ts';

export const TEST_LINK_KEY = 'link-signing-key-of-the-tests-only';
export const TEST_INTERNAL_KEY = 'internal-token-key-of-the-tests-only';
export const TEST_BASE_URL = 'https://exchange.test.example.org';

export interface TestAccount {
  accountId: string;
  facilityId: string;
  apiKey: string;
  /** Sends a request as this account; a body goes as JSON. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<LightMyRequestResponse>;
}

export interface TestGateway {
  app: FastifyInstance;
  /** Of its own database; empty on a given store. */
  databaseUrl: string;
  store: Store;
  blobs: BlobStore;
  /** How many blobs are on disk. */
  blobCount(): Promise<number>;
  /**
   * Request ids of the queries and bulk creates that were started after their
   * commit, and of uploads that were announced.
   */
  launched: string[];
  /** Ids of the workflows that were to be stopped. */
  stopped: string[];
  erasures: Erasures;
  /** Every line that was logged. */
  logLines: string[];
  addAccount(options?: {
    dialect?: Dialect;
    settings?: AccountSettings;
  }): Promise<TestAccount>;
  close(): Promise<void>;
}

const ALL_SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true },
  lab: { enabled: true },
};

/**
 * The gateway on a given store or on a database of its own; queries are written
 * for real, and their start is only noted.
 */
export async function createTestGateway({
  onEvents,
  connectionWaitMs,
  changeBlobs = (blobs) => blobs,
  store: given,
  ...overrides
}: Partial<GatewayDeps> & {
  onEvents?: EventsCommitted;
  connectionWaitMs?: number;
  /** Puts something between the gateway and its blob store. */
  changeBlobs?: (blobs: BlobStore) => BlobStore;
} = {}): Promise<TestGateway> {
  const own: TestStore =
    given === undefined
      ? await createTestStore({
          poolMax: 12,
          accountMax: 6,
          sharedMax: 2,
          connectionWaitMs,
        })
      : { store: given, databaseUrl: '', close: async () => undefined };
  const { store } = own;
  if (onEvents !== undefined) store.onEventsCommitted(onEvents);
  const blobFolder = await mkdtemp(join(tmpdir(), 'gateway-blobs-'));
  const blobs = changeBlobs(await openFileBlobStore(blobFolder, testKeyRing()));
  const documentRenditions = createDocumentRenditions({ store, blobs });
  const launched: string[] = [];
  const logLines: string[] = [];
  const stopped: string[] = [];
  const erasures = createErasures({
    store,
    blobs,
    stopWorkflow: async (workflowId) => void stopped.push(workflowId),
    logger: pino({ level: 'silent' }),
  });
  const app = await createGateway({
    store,
    logger: pino(
      { level: 'debug' },
      { write: (line: string) => void logLines.push(line) },
    ),
    networkQueries: notingQueries(launched),
    blobs,
    bulkExports: {
      launch: (_accountId, id) => void launched.push(id),
      stop: (_, id) => void stopped.push(id),
    },
    bulkCreates: notingBulkCreates({ store, blobs, launched }),
    consolidatedQueries: {
      launch: (_accountId, requestId) => void launched.push(requestId),
    },
    querySweeps: endedSweeps,
    queryRedrives: {
      launch: (_accountId, redriveId) => void launched.push(redriveId),
    },
    links: createLinkMaker(TEST_BASE_URL, TEST_LINK_KEY),
    records: createRecordKeeper({
      store,
      blobs,
      converter: createCcdaConverter(),
      noteIncomplete,
    }),
    documentRenditions,
    webhookDispatcher: { resume: () => undefined },
    webhookKeys: createWebhookKeys(testKeyRing()),
    responseSeal: createResponseSeal(testKeyRing()),
    destinationPing: { ping: () => undefined },
    followUps: { launch: () => undefined, wake: () => undefined },
    recordings: { launch: () => undefined },
    messages: { launch: () => undefined },
    arrivals: { tell: () => undefined },
    erasures,
    publicBaseUrl: TEST_BASE_URL,
    idHmacKey: TEST_ID_HMAC_KEY,
    linkSigningKey: TEST_LINK_KEY,
    internalTokenKey: TEST_INTERNAL_KEY,
    allowLoopbackWebhooks: false,
    sourceCallbacks: {
      handle: async () => ({ status: 404 }),
      announce: async () => undefined,
    },
    deferredAnswers: createDeferredAnswers({
      store,
      keyRing: testKeyRing(),
      callbackKey: TEST_LINK_KEY,
      publicBaseUrl: TEST_BASE_URL,
    }),
    cohortSchedules: { cohortChanged: () => undefined },
    pingTemporal: async () => undefined,
    ...overrides,
  });
  return {
    app,
    databaseUrl: own.databaseUrl,
    store,
    blobs,
    async blobCount() {
      const entries = await readdir(blobFolder, {
        recursive: true,
        withFileTypes: true,
      });
      return entries.filter((entry) => entry.isFile()).length;
    },
    launched,
    stopped,
    erasures,
    logLines,
    addAccount: (options) => addAccount(app, store, options),
    async close() {
      await app.close();
      await erasures.drain();
      await documentRenditions.close();
      await own.close();
      await rm(blobFolder, { recursive: true, force: true });
    },
  };
}

function notingQueries(launched: string[]): GatewayDeps['networkQueries'] {
  const ended = async () => {
    throw new ConflictError('The query has ended');
  };
  const begin: Pick<
    GatewayDeps['networkQueries'],
    'prepareQuery' | 'launchQuery'
  > = {
    prepareQuery: (tx, input) => prepareQuery(tx, input, TEST_LINK_KEY),
    launchQuery: (_accountId, { requestId }) => void launched.push(requestId),
  };
  return {
    ...begin,
    startQuery: (tx, input) => startQuery(tx, begin, input),
    readQuery,
    listQueries,
    readTimeline,
    retrySource: ended,
    giveUpSource: ended,
    cancelQuery: ended,
    drain: async () => undefined,
  };
}

const noSweep = async () => {
  throw new ConflictError('The sweep has ended');
};
const endedSweeps = {
  readCounts: readSweepCounts,
  pauseSweep: noSweep,
  resumeSweep: noSweep,
  cancelSweep: noSweep,
};

function notingBulkCreates(deps: {
  store: Store;
  blobs: BlobStore;
  launched: string[];
}): GatewayDeps['bulkCreates'] {
  const note = (_accountId: string, requestId: string) =>
    void deps.launched.push(requestId);
  const ended = async () => {
    throw new ConflictError('The bulk create has ended');
  };
  return {
    launch: note,
    announceUpload: note,
    receiveUpload: createUploadReceiver({
      ...deps,
      logger: pino({ level: 'silent' }),
    }).receive,
    pauseBulkCreate: ended,
    resumeBulkCreate: ended,
    cancelBulkCreate: ended,
    drain: async () => undefined,
  };
}

async function addAccount(
  app: FastifyInstance,
  store: Store,
  { dialect, settings }: { dialect?: Dialect; settings?: AccountSettings } = {},
): Promise<TestAccount> {
  const accountId = uuidv7();
  const facilityId = uuidv7();
  const apiKey = generateApiKey();
  const key = parseApiKey(apiKey);
  if (key === undefined) throw new Error('not a key');
  await store.asSystem(async (tx) => {
    await insertAccount(tx, {
      id: accountId,
      name: 'Test',
      dialect,
      settings: { sources: ALL_SOURCES, ...settings },
    });
    await insertApiKey(tx, { id: uuidv7(), accountId, ...key });
  });
  await store.asAccount(accountId, (tx) =>
    insertFacility(tx, {
      id: facilityId,
      oid: '2.16.840.1.113883.3.9621.5.1',
      name: 'Test clinic',
      npi: '1234567893',
      tin: null,
      address: {
        addressLine1: '1 Main St',
        city: 'Boston',
        state: 'MA',
        zip: '02108',
        country: 'USA',
      },
    }),
  );
  return {
    accountId,
    facilityId,
    apiKey,
    call: (method, url, body, headers) =>
      app.inject({
        method,
        url: url.startsWith('/') ? url : `/medical/v1/${url}`,
        headers: {
          'x-api-key': apiKey,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { payload: body as object }),
      }),
  };
}

let personNumber = 0;

/** A person whom no other call describes. */
export function newPerson(changes: Record<string, unknown> = {}) {
  personNumber += 1;
  const letters = [...String(personNumber)]
    .map((digit) => 'abcdefghij'[Number(digit)])
    .join('');
  return {
    firstName: 'Pat',
    lastName: `Sample${letters}`,
    dob: '1980-04-05',
    genderAtBirth: 'F',
    address: [
      {
        addressLine1: '12 Beacon Street',
        city: 'Boston',
        state: 'MA',
        zip: '02108',
      },
    ],
    ...changes,
  };
}

/** The person with a Social Security number. */
export function withSsn<P>(person: P, ssn: string) {
  return { ...person, personalIdentifiers: [{ type: 'ssn', value: ssn }] };
}
