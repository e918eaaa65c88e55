import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import type { NotifyInput } from '../../src/local-stack/simulator/notifications.ts';
import { createExchangeClient } from '../../src/orchestrator/client/exchange-client.ts';
import { whyNoWebhook } from '../../src/starter/commands/notifications.ts';
import {
  createTestGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { runAdminOn } from '../support/run-admin.ts';
import { starter } from '../support/run-starter.ts';
import {
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

const SENDER = { name: 'simulator', secret: 'secret-of-the-simulator' };
const SETTINGS = {
  monitoring: {
    adt: { enabled: true },
    pharmacy: { notifications: true },
    laboratory: { notifications: true },
  },
};

let gateway: TestGateway;
let account: TestAccount;
let simulator: TestSimulator;
let patientId: string;

beforeAll(async () => {
  gateway = await createTestGateway({
    notificationSenders: [{ ...SENDER, timeZone: 'UTC' }],
  });
  const url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  simulator = await startTestSimulator({
    notify: { url, sender: SENDER.name, secret: SENDER.secret },
  });
  account = await gateway.addAccount();
  const cohort = await account.call('POST', 'cohort', {
    name: 'Monitored',
    settings: SETTINGS,
  });
  const body = { ...sample().createBody, cohorts: [cohort.json().id] };
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    body,
  );
  patientId = created.json().id;
});
afterAll(() => Promise.all([simulator.close(), gateway.close()]));

const notify = (rest: Partial<NotifyInput>) =>
  simulator.admin.notify({
    sample: sample().key,
    events: [{ event: 'admit' }],
    ...rest,
  });

interface Item {
  id: string;
  type: string;
  status: string;
  occurredAt: string;
}
/** What came of it since `known`, in the order in which it happened. */
async function told(known: readonly Item[] = []): Promise<Item[]> {
  const { notifications } = (
    await account.call('GET', `notification?patientId=${patientId}&count=500`)
  ).json();
  return (notifications as Item[])
    .filter(({ id }) => !known.some((item) => item.id === id))
    .sort((a, b) => (a.occurredAt < b.occurredAt ? -1 : 1));
}
const STAY: NotifyInput['events'] = [
  { event: 'admit' },
  { event: 'transfer' },
  { event: 'cancel-transfer' },
  { event: 'transfer' },
  { event: 'discharge' },
  { event: 'cancel-discharge' },
  { event: 'update' },
];

describe('the simulated hospital, pharmacy and laboratory', () => {
  test.each(['hl7v2', 'fhir'] as const)(
    'tell of a stay in %s; doubled and shuffled it is the same stay',
    async (format) => {
      const before = await told();
      const plain = await notify({
        format,
        visit: `plain-${format}`,
        events: STAY,
      });
      expect(plain.map(({ status }) => status)).toEqual(STAY.map(() => 200));
      const inOrder = await told(before);
      const known = await told();
      const arrival = { order: 'shuffled' as const, times: 2 };
      await notify({
        format,
        visit: `shuffled-${format}`,
        events: STAY,
        arrival,
      });
      const current = (items: Item[]) =>
        items
          .filter(({ status }) => status === 'current')
          .map(({ type }) => type);
      expect(current(inOrder)).toEqual(['patient.admit', 'patient.transfer']);
      expect(current(await told(known))).toEqual(current(inOrder));
    },
  );

  test.each(['hl7v2', 'fhir'] as const)(
    'tell of fills and results in %s, and of merged records',
    async (format) => {
      const before = await told();
      const sent = await notify({
        visit: 'v3',
        format,
        events: [
          { event: 'fill' },
          { event: 'result' },
          { event: 'merge', priorRecord: 'old' },
        ],
        arrival: { times: 2 },
      });
      const answer = format === 'fhir' ? 'informational' : 'AA';
      expect(
        sent.map(
          (message) => `${message.event} ${message.format} ${message.answer}`,
        ),
      ).toEqual([
        `fill ${format} ${answer}`,
        `fill ${format} ${answer}`,
        `result ${format} ${answer}`,
        `result ${format} ${answer}`,
        'merge hl7v2 AA',
        'merge hl7v2 AA',
      ]);
      expect((await told(before)).map(({ type }) => type).sort()).toEqual([
        'patient.laboratory',
        'patient.pharmacy',
      ]);
    },
  );

  test('are seen by callers and operators: what was told, and what nobody was found for', async () => {
    const [stranger] = loadSamplePatients().filter(
      ({ key }) => key !== sample().key,
    );
    await notify({ sample: stranger?.key ?? '', visit: 'stranger' });
    const url = gateway.app.listeningOrigin;
    const run = (...argv: string[]) =>
      starter([
        'notifications',
        ...argv,
        '--json',
        '--base-url',
        url,
        '--api-key',
        account.apiKey,
      ]);
    const list = (await run('list', '--patient', patientId)).json();
    expect(list.notifications).toContainEqual(
      expect.objectContaining({ type: 'patient.pharmacy', patientId }),
    );
    expect(JSON.stringify(list)).not.toContain('/links/');
    const unmatched = await runAdminOn(
      gateway.store,
      'notifications',
      'unmatched',
    );
    expect(unmatched.document.messages).toMatchObject([
      { sender: 'simulator', trigger: 'A01', outcome: 'unmatched' },
    ]);
    expect(unmatched.out).not.toContain(stranger?.createBody.lastName);
  });

  test('that lead to no webhook are explained: no patient, or no cohort with the feature', async () => {
    const other = await gateway.addAccount();
    const why = (apiKey: string) =>
      whyNoWebhook(
        createExchangeClient({
          baseUrl: gateway.app.listeningOrigin,
          credential: async () => ({ name: 'x-api-key', value: apiKey }),
          idempotency: true,
          timeoutMs: 240_000,
        }),
        sample(),
        ['admit', 'discharge', 'fill'],
      );
    expect(await why(account.apiKey)).toEqual([]);
    expect(await why(other.apiKey)).toEqual([
      expect.stringContaining(`--sample ${sample().key}`),
    ]);
    const monitoring = {
      adt: { enabled: false },
      pharmacy: { notifications: true },
    };
    const cohort = await other.call('POST', 'cohort', {
      name: 'Fills only',
      settings: { monitoring },
    });
    const body = { ...sample().createBody, cohorts: [cohort.json().id] };
    await other.call('POST', `patient?facilityId=${other.facilityId}`, body);
    expect(await why(other.apiKey)).toEqual([
      expect.stringContaining('ADT monitoring'),
    ]);
  });

  test('say why they cannot tell', async () => {
    await expect(notify({ sample: 'nobody' })).rejects.toThrow(
      'There is no sample nobody',
    );
    await expect(notify({ events: [] })).rejects.toThrow(
      'rejected POST /admin/notifications',
    );
    const lonely = await startTestSimulator();
    await expect(
      lonely.admin.notify({
        sample: sample().key,
        events: [{ event: 'admit' }],
      }),
    ).rejects.toThrow('EXCHANGE_BASE_URL');
    await lonely.close();
  });
});
