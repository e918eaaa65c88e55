import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createRecordActivities,
  createSourceActivities,
} from '../../src/activities/exchange/network-query.ts';
import { SOURCE_FAILURE_TYPES } from '../../src/contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import {
  consolidatedQueryWorkflowId,
  messageTransmissionWorkflowId,
  networkQueryWorkflowId,
} from '../../src/contract/temporal.ts';
import { createErasures } from '../../src/exchange/platform/erasure/erasures.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import { abandonedJobRecovery } from '../../src/exchange/queries/network-query/feature.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import type { SourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import type {
  SourceConnector,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { runActivity, stepOf } from '../support/network-query-environment.ts';
import { observation, page } from '../support/source-pages.ts';
import { takeUp } from '../support/take-up.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

/**
 * Steps of workers on the gateway's own database; the source's pages are the
 * test's.
 */
function workerOf(pages: () => AsyncGenerator<SourcePage>) {
  return workerWith({ begin: async () => ({ kind: 'ready', pages: pages() }) });
}

function workerWith(
  connector: Partial<SourceConnector>,
  connections?: SourceConnections,
) {
  const { store, blobs } = gateway;
  const connectors = Object.fromEntries(
    SOURCE_TYPES.map((source) => [source, connector]),
  ) as Record<SourceType, SourceConnector>;
  const records = createRecordKeeper({
    store,
    blobs,
    converter: createCcdaConverter(),
    noteIncomplete,
  });
  const webhookDispatcher = { send: () => undefined };
  const deps = {
    store,
    blobs,
    records,
    webhookDispatcher,
    connectors,
    connections,
    callbackKey: 'key',
    callbackBaseUrl: () => undefined,
    startGuard: createStartGuard(store),
    sourceHealth: createSourceHealth(store),
  };
  return { ...createSourceActivities(deps), ...createRecordActivities(deps) };
}

async function newPatient(): Promise<{ id: string; eTag: string }> {
  const cohort = (
    await account.call('POST', 'cohort', { name: uuidv7() })
  ).json();
  const person = newPerson({ externalId: uuidv7(), cohorts: [cohort.id] });
  const url = `patient?facilityId=${account.facilityId}`;
  return (
    await account.call('POST', url, person, { 'idempotency-key': uuidv7() })
  ).json();
}
const startQuery = async (patientId: string): Promise<string> => {
  const body = { sources: { hie: { enabled: true } } };
  return (
    await account.call('POST', `network/query?patientId=${patientId}`, body)
  ).json().requestId;
};
/** One that is being sent. */
async function newMessage(patientId: string): Promise<string> {
  const id = uuidv7();
  await gateway.store.asAccount(account.accountId, (tx) =>
    sql`insert into message (id, account_id, patient_id, direction, status, transport_method, destination, subject)
      values (${id}, ${account.accountId}, ${patientId}, 'outbound', 'processing', 'direct', 'a@example.org', 'Note')`.execute(
      tx.db,
    ),
  );
  return id;
}
const remove = (id: string, headers?: Record<string, string>) =>
  account.call('DELETE', `patient/${id}`, undefined, headers);

/** Tables of accounts with a row in which the text stands. */
async function tablesWith(text: string): Promise<string[]> {
  return gateway.store.asSystem(async (tx) => {
    const { rows: tables } = await sql<{ name: string }>`
      select distinct table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'account_id' order by 1`.execute(
      tx.db,
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const like = `%${text}%`;
      const { rows } =
        await sql`select from ${sql.table(name)} as t where t::text like ${like} limit 1`.execute(
          tx.db,
        );
      if (rows.length > 0) found.push(name);
    }
    return found;
  });
}

describe('a patient that is deleted', () => {
  test('leaves no row but the audit, no blob, and nothing that runs', async () => {
    const blobsBefore = await gateway.blobCount();
    const patient = await newPatient();
    const requestId = await startQuery(patient.id);
    const worker = workerOf(async function* () {
      yield page([observation('one')], { attachments: [attachment] });
    });
    await runActivity(
      worker.askSource,
      stepOf(account.accountId, requestId, 'hie'),
    );
    const running = await startQuery(patient.id);
    const consolidated = (
      await account.call('POST', `patient/${patient.id}/consolidated/query`)
    ).json();
    await gateway.store.asAccount(account.accountId, (tx) =>
      insertEvent(tx, {
        type: 'patient.admit',
        factKey: uuidv7(),
        patientId: patient.id,
        occurredAt: new Date(),
        body: { meta: {}, payload: { patientId: patient.id } },
      }),
    );
    const messageId = await newMessage(patient.id);
    expect(await gateway.blobCount()).toBe(blobsBefore + 2);
    expect((await tablesWith(patient.id)).length).toBeGreaterThan(9);

    const answer = await remove(patient.id, { 'if-match': patient.eTag });
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
    await gateway.erasures.drain();
    expect(await tablesWith(patient.id)).toEqual(['audit_entry']);
    expect(await gateway.blobCount()).toBe(blobsBefore);
    expect([...gateway.stopped].sort()).toEqual(
      [
        networkQueryWorkflowId(running),
        consolidatedQueryWorkflowId(consolidated.requestId),
        messageTransmissionWorkflowId(messageId),
      ].sort(),
    );
    const { rows } = await gateway.store.asSystem((tx) =>
      sql`select operation, outcome from audit_entry where patient_id = ${patient.id} order by id desc limit 1`.execute(
        tx.db,
      ),
    );
    expect(rows).toEqual([{ operation: 'deletePatient', outcome: '204' }]);

    for (const url of [
      `patient/${patient.id}`,
      `network/query/${running}`,
      `patient/${patient.id}/cohort`,
    ])
      expect((await account.call('GET', url)).statusCode).toBe(404);
    expect((await remove(patient.id)).statusCode).toBe(404);
  });

  test('is refused when it has changed, and not found when it is another account’s', async () => {
    const patient = await newPatient();
    await account.call(
      'PUT',
      `patient/${patient.id}/hie-opt-out?hieOptOut=true`,
    );
    expect(
      (await remove(patient.id, { 'if-match': patient.eTag })).statusCode,
    ).toBe(412);
    const other = await gateway.addAccount();
    const answer = await other.call('DELETE', `patient/${patient.id}`);
    expect([answer.statusCode, answer.json().detail]).toEqual([
      404,
      'Patient not found',
    ]);
    expect(
      (await account.call('GET', `patient/${patient.id}`)).statusCode,
    ).toBe(200);
    expect((await account.call('DELETE', 'patient/none')).statusCode).toBe(400);
  });

  test('while a source’s answer is collected leaves nothing of it; the steps that follow end at once', async () => {
    const patient = await newPatient();
    const requestId = await startQuery(patient.id);
    const before = await gateway.blobCount();
    const worker = workerOf(async function* () {
      yield page([observation('one')], { next: { page: 1 } });
      expect((await remove(patient.id)).statusCode).toBe(204);
      yield page([observation('two')], { attachments: [attachment] });
    });
    const step = stepOf(account.accountId, requestId, 'hie');
    await expect(runActivity(worker.askSource, step)).rejects.toMatchObject({
      type: SOURCE_FAILURE_TYPES.superseded,
      nonRetryable: false,
    });
    await gateway.erasures.drain();
    expect(await gateway.blobCount()).toBe(before);
    for (const late of [worker.askSource, worker.collectSource]) {
      await expect(runActivity(late, step)).rejects.toMatchObject({
        type: SOURCE_FAILURE_TYPES.superseded,
        nonRetryable: true,
      });
    }
    await runActivity(worker.recordFailedAttempt, {
      ...step,
      reason: 'The patient was deleted',
      abandoned: true,
    });
    expect(
      await runActivity(worker.openNextAttempt, { ...step, attempt: 2 }),
    ).toEqual({ attempt: 2 });
    expect(await tablesWith(patient.id)).toEqual(['audit_entry']);
    expect(await tablesWith(requestId)).toEqual(['audit_entry']);
  });

  describe('while a source works on a job about the patient', () => {
    const job = { url: 'job-1' };
    const cancelling = () => {
      const cancelled: unknown[] = [];
      const connector: Partial<SourceConnector> = {
        begin: async () => ({ kind: 'accepted', job }),
        cancel: async (each) => void cancelled.push(each),
      };
      return { cancelled, connector };
    };
    const ended = (requestId: string, abandoned = true) => ({
      ...stepOf(account.accountId, requestId, 'hie'),
      reason: 'The patient was deleted',
      abandoned,
    });

    // Whether the workflow is stopped or first notices that its query is gone.
    test.each([true, false])(
      'the job is cancelled there (abandoned: %s)',
      async (abandoned) => {
        const patient = await newPatient();
        const requestId = await startQuery(patient.id);
        const { cancelled, connector } = cancelling();
        const worker = workerWith(connector);
        await runActivity(
          worker.askSource,
          stepOf(account.accountId, requestId, 'hie'),
        );
        expect((await remove(patient.id)).statusCode).toBe(204);
        await runActivity(
          worker.recordFailedAttempt,
          ended(requestId, abandoned),
        );
        await runActivity(
          worker.recordFailedAttempt,
          ended(requestId, abandoned),
        );
        expect(cancelled).toEqual([job]);
        expect(await tablesWith(requestId)).toEqual(['audit_entry']);
      },
    );

    test('the job of each connection is cancelled there', async () => {
      const patient = await newPatient();
      const requestId = await startQuery(patient.id);
      const { cancelled, connector } = cancelling();
      const id = uuidv7();
      // Only an account that has connections is asked for its parts.
      await gateway.store.asSystem((tx) =>
        sql`insert into network_connection (id, account_id, source, name, base_url, settings, auth_kind, credentials, namespace)
          values (${id}, ${account.accountId}, 'hie', 'North', 'http://127.0.0.1:1/', '{}', 'bearer', '', 'n~')`.execute(
          tx.db,
        ),
      );
      const purposes: string[] = [];
      const worker = workerWith(
        {},
        {
          toAsk: async () => [{ id, name: 'North', namespace: 'n~' }],
          connector: async (_accountId, connectionId, purpose) => {
            purposes.push(purpose);
            return connectionId === id
              ? (connector as SourceConnector)
              : Promise.reject(new Error('unknown'));
          },
          network: () => Promise.reject(new Error('there is no network')),
        },
      );
      await runActivity(
        worker.askSource,
        stepOf(account.accountId, requestId, 'hie'),
      );
      await remove(patient.id);
      await runActivity(worker.recordFailedAttempt, ended(requestId));
      expect(cancelled).toEqual([job]);
      expect(purposes).toEqual(['treatment', 'treatment']);
    });

    test('a job that is accepted after the deletion is cancelled at once', async () => {
      const patient = await newPatient();
      const requestId = await startQuery(patient.id);
      const { cancelled, connector } = cancelling();
      const worker = workerWith({
        ...connector,
        begin: async () => {
          await remove(patient.id);
          return { kind: 'accepted', job };
        },
      });
      await runActivity(
        worker.askSource,
        stepOf(account.accountId, requestId, 'hie'),
      );
      expect(cancelled).toEqual([job]);
    });

    test('what no workflow cancelled is forgotten after a day', async () => {
      const patient = await newPatient();
      const requestId = await startQuery(patient.id);
      const worker = workerWith(cancelling().connector);
      await runActivity(
        worker.askSource,
        stepOf(account.accountId, requestId, 'hie'),
      );
      await remove(patient.id);
      const recovery = abandonedJobRecovery(gateway);
      await takeUp(recovery);
      expect(await tablesWith(requestId)).toContain('abandoned_job');
      await gateway.store.asSystem((tx) =>
        sql`update abandoned_job set noted_at = noted_at - interval '25 hours'`.execute(
          tx.db,
        ),
      );
      await takeUp(recovery);
      expect(await tablesWith(requestId)).not.toContain('abandoned_job');
    });
  });

  test('at the same time as it is changed, asked about and put into a cohort makes no fault', async () => {
    const cohort = (
      await account.call('POST', 'cohort', { name: uuidv7() })
    ).json();
    for (let round = 0; round < 3; round++) {
      const { id } = await newPatient();
      const answers = await Promise.all([
        account.call(
          'PUT',
          `patient/${id}/treatment-relationship?treatmentRelationship=false`,
        ),
        account.call('POST', `network/query?patientId=${id}`, {
          sources: { lab: { enabled: true } },
        }),
        remove(id),
        account.call('POST', `cohort/${cohort.id}/patient`, {
          allPatients: true,
        }),
        account.call('POST', `patient/${id}/consolidated/query`),
        account.call('DELETE', `cohort/${cohort.id}/patient`, {
          patientIds: [id],
        }),
      ]);
      expect(
        answers
          .map(({ statusCode }) => statusCode)
          .filter((status) => status >= 500),
      ).toEqual([]);
      expect(answers[2]?.statusCode).toBe(204);
      expect(await tablesWith(id)).toEqual(['audit_entry']);
    }
  });

  test('is erased by reconcile when that failed at first, and what fails keeps nothing else waiting', async () => {
    const patient = await newPatient();
    const requestId = await startQuery(patient.id);
    const before = await gateway.blobCount();
    const worker = workerOf(async function* () {
      yield page([observation('one')], { attachments: [attachment] });
    });
    await runActivity(
      worker.askSource,
      stepOf(account.accountId, requestId, 'hie'),
    );
    const running = await startQuery(patient.id);
    const { store, blobs } = gateway;
    const parts = { store, logger: pino({ level: 'silent' }) };
    const failing = async () => Promise.reject(new Error('down'));
    // The request's own background work comes to nothing, as when its process
    // dies.
    const cut = createErasures({
      ...parts,
      blobs: { delete: failing },
      stopWorkflow: failing,
    });
    const dying = await createTestGateway({ store, erasures: cut });
    await dying.app.inject({
      method: 'DELETE',
      url: `/medical/v1/patient/${patient.id}`,
      headers: { 'x-api-key': account.apiKey },
    });
    await cut.drain();
    await dying.close();
    expect(await gateway.blobCount()).toBe(before + 2);

    const stopped: string[] = [];
    const stopWorkflow = async (id: string) => void stopped.push(id);
    const half = createErasures({
      ...parts,
      blobs: { delete: failing },
      stopWorkflow,
    });
    await expect(takeUp(half.recovery, 10)).rejects.toThrow('down');
    expect(stopped).toEqual([networkQueryWorkflowId(running)]);
    const whole = createErasures({ ...parts, blobs, stopWorkflow });
    expect(await takeUp(whole.recovery, 10)).toBe(2);
    expect([
      await gateway.blobCount(),
      await takeUp(whole.recovery, 10),
    ]).toEqual([before, 0]);
  });
});

const attachment: SourcePage['attachments'][number] = {
  bytes: Buffer.from('a letter'),
  contentType: 'text/plain',
  sourceDocumentId: 'letter-1',
};
