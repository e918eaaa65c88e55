import { randomInt } from 'node:crypto';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { isNpi } from '../../../src/contract/primitives.ts';
import { SCOPES, type Scope } from '../../../src/contract/scope.ts';
import { insertApiKey } from '../../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../../src/exchange/access/accounts/rules/api-key.ts';
import { createDocumentRenditions } from '../../../src/exchange/delivery/documents/renditions.ts';
import { createBulkCreateService } from '../../../src/exchange/people/bulk-create/service.ts';
import type {
  AccountTx,
  Store,
} from '../../../src/exchange/platform/database/database.ts';
import { createNetworkQueryService } from '../../../src/exchange/queries/network-query/service.ts';
import { noteIncomplete } from '../../../src/exchange/queries/network-query/timeline-store.ts';
import { createSweepControl } from '../../../src/exchange/queries/sweep/control.ts';
import { createCcdaConverter } from '../../../src/exchange/records/conversion/ccda-converter.ts';
import { createRecordKeeper } from '../../../src/exchange/records/record-keeper.ts';
import {
  createTestGateway,
  newPerson,
  TEST_LINK_KEY,
  type TestAccount,
} from '../../support/gateway.ts';
import { giveMailbox } from '../../support/mail-system.ts';
import { connectForSubmissions } from '../../support/submission-connection.ts';

/**
 * One gateway and account that all cases share; each case makes its own things
 * in it.
 */
export type World = Awaited<ReturnType<typeof createWorld>>;

/** Limits that thousands of requests do not meet. */
const MANY = {
  requestsPerMinute: 10_000_000,
  networkQueriesPerMinute: 10_000,
  consolidatedQueriesPerMinute: 10_000,
  messagesPerMinute: 10_000,
};

export async function createWorld() {
  const messages = { launch: () => undefined, receiptArrived: () => undefined };
  const identityPartner = {
    openSession: async () => ({ url: 'https://identity.example.org/session' }),
    openChallenge: async () => ({
      url: 'https://identity.example.org/challenge',
      method: 'otp',
    }),
  };
  const base = await createTestGateway({ messages, identityPartner });
  const account = await base.addAccount({ settings: { limits: MANY } });
  /** One of its own for lists without a filter. */
  const other = await base.addAccount({ settings: { limits: MANY } });
  for (const { accountId } of [account, other]) {
    // Nothing is sent here, so neither of the addresses is used.
    await giveMailbox(base.store, accountId, { smtpPort: 1, imapPort: 1 });
    await connectForSubmissions(base.store, accountId, {
      submissionUrl: 'https://gateway.example/submission',
    });
  }
  /**
   * What happens at the next use of the database, or of the workflow service.
   */
  const faults: { database?: Error; temporal?: Error } = {};
  const store: Store = {
    ...base.store,
    asAccount: (...call) =>
      faults.database === undefined
        ? base.store.asAccount(...call)
        : Promise.reject(faults.database),
  };
  const logger = pino({ level: 'silent' });
  const webhookDispatcher = { send: () => undefined, resume: () => undefined };
  const temporal = workflowsThatAreGone(faults, (work) =>
    base.store.asAccount(account.accountId, work),
  );
  const real = {
    store,
    temporal,
    logger,
    webhookDispatcher,
    blobs: base.blobs,
  };
  const networkQueries = createNetworkQueryService({
    ...real,
    callbackKey: TEST_LINK_KEY,
  });
  const documentRenditions = createDocumentRenditions({
    store,
    blobs: base.blobs,
  });
  const served = await createTestGateway({
    store,
    blobs: base.blobs,
    networkQueries: { ...networkQueries },
    bulkCreates: { ...createBulkCreateService(real), launch: () => undefined },
    querySweeps: createSweepControl(real),
    messages,
    erasures: base.erasures,
    records: createRecordKeeper({
      store,
      blobs: base.blobs,
      converter: createCcdaConverter(),
      noteIncomplete,
    }),
    documentRenditions,
    identityPartner,
  });
  return {
    app: served.app,
    faults,
    account,
    databaseUrl: base.databaseUrl,
    blobs: base.blobs,
    /** An account that may make no request at all. */
    limited: await base.addAccount({
      settings: { limits: { requestsPerMinute: 0 } },
    }),
    other,
    keys: Object.fromEntries(
      await Promise.all(
        SCOPES.map(async (scope) => [
          scope,
          await addKey(base.store, account, [scope]),
        ]),
      ),
    ) as Record<Scope, string>,
    addAccount: base.addAccount,
    /** A transaction of the account. */
    inSystem: base.store.asSystem,
    inAccount: <T>(work: (tx: AccountTx) => Promise<T>) =>
      base.store.asAccount(account.accountId, work),
    make: makerFor(account),
    npi: newNpi,
    /**
     * Resolves when the workflows of accepted queries have been started, which
     * happens after the response.
     */
    settled: () => networkQueries.drain(),
    async close() {
      await served.close();
      await documentRenditions.close();
      await base.close();
    },
  };
}

async function addKey(
  store: Store,
  { accountId }: TestAccount,
  scopes: Scope[],
): Promise<string> {
  const apiKey = generateApiKey();
  const key = parseApiKey(apiKey);
  if (key === undefined) throw new Error('not a key');
  await store.asSystem((tx) =>
    insertApiKey(tx, { id: uuidv7(), accountId, ...key, scopes }),
  );
  return apiKey;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every operation
type Body = any;

let strangers = 0;
/**
 * A person who shares neither home nor birth date with the others, so that a
 * create finds no possible duplicate.
 */
function stranger() {
  strangers += 1;
  const dob = new Date(Date.UTC(1930, 0, 2) + strangers * 41 * 86_400_000)
    .toISOString()
    .slice(0, 10);
  const zip = String(10_001 + strangers);
  return newPerson({
    dob,
    address: [
      { addressLine1: `${strangers} Elm`, city: 'Boston', state: 'MA', zip },
    ],
  });
}

function makerFor(account: TestAccount) {
  const call = async (
    method: 'POST' | 'PUT',
    url: string,
    body?: unknown,
  ): Promise<Body> => {
    const answer = await account.call(method, url, body);
    if (answer.statusCode >= 300) throw new Error(`${url}: ${answer.body}`);
    return answer.json();
  };
  return {
    call,
    person: newPerson,
    patient: async (changes: object = {}): Promise<string> =>
      (
        await call('POST', `patient?facilityId=${account.facilityId}`, {
          ...stranger(),
          ...changes,
        })
      ).id,
    cohort: async (changes: object = {}): Promise<string> =>
      (await call('POST', 'cohort', { name: `Cohort ${uuidv7()}`, ...changes }))
        .id,
    facility: async (): Promise<string> =>
      (
        await call('POST', 'facility', {
          name: 'Second',
          npi: newNpi(),
          address: newPerson().address[0],
        })
      ).id,
    query: async (patientId: string): Promise<string> =>
      (
        await call('POST', `network/query?patientId=${patientId}`, {
          sources: ['hie', 'lab'],
        })
      ).requestId,
  };
}

const usedNpis = new Set<string>();
function newNpi(): string {
  for (;;) {
    const npi = String(randomInt(1_000_000_000, 2_000_000_000));
    if (!isNpi(npi) || usedNpis.has(npi)) continue;
    usedNpis.add(npi);
    return npi;
  }
}

/**
 * A workflow service at which nothing runs any more, so that what a steering
 * command asks for is done by the gateway itself; only pause and resume, which
 * need a running workflow, are taken as its step would take them. The commands
 * before real workflows: test/workflows.
 */
function workflowsThatAreGone(
  faults: { temporal?: Error },
  inAccount: (work: (tx: AccountTx) => Promise<unknown>) => Promise<unknown>,
): Client {
  const executeUpdate = async (
    workflowId: string,
    name: string,
  ): Promise<void> => {
    if (faults.temporal !== undefined) throw faults.temporal;
    const [kind, requestId = ''] = workflowId.split('/');
    const paused = name.startsWith('pause');
    if (kind === 'bulk-patient-create' && !name.startsWith('cancel'))
      await inAccount(({ db }) =>
        db
          .updateTable('bulk_request')
          .set({ paused })
          .where('id', '=', requestId)
          .execute(),
      );
    else if (kind === 'query-sweep') {
      const state = name.startsWith('cancel')
        ? 'cancelled'
        : paused
          ? 'paused'
          : 'running';
      await inAccount(({ db }) =>
        db
          .updateTable('bulk_sweep')
          .set({ state })
          .where('request_id', '=', requestId)
          .execute(),
      );
    } else throw new WorkflowNotFoundError('gone', workflowId, undefined);
  };
  return {
    withDeadline: <T>(_deadline: number, work: () => Promise<T>) => work(),
    workflow: {
      getHandle: (id: string) => ({
        executeUpdate: (name: string) => executeUpdate(id, name),
        describe: async () => ({ status: { name: 'TERMINATED' }, raw: {} }),
      }),
      start: async (type: string, { workflowId }: { workflowId: string }) => {
        throw (
          faults.temporal ??
          new WorkflowExecutionAlreadyStartedError('ended', workflowId, type)
        );
      },
    },
  } as unknown as Client;
}
