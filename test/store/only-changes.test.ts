import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SourceType } from '../../src/contract/primitives.ts';
import {
  completenessLines,
  readRecordCompleteness,
} from '../../src/exchange/records/reading/completeness.ts';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import type { SourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';
import { property } from '../support/property.ts';
import {
  SIMULATOR_CREDENTIALS,
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

let environment: QueryEnvironment;
let simulator: TestSimulator;
let accountId: string;
let patientId: string;
const SAMPLE = 'keith-kiehn';
const { createBody } = sample(SAMPLE);

beforeAll(async () => {
  environment = await createQueryEnvironment();
  ({ accountId } = await environment.addAccount({ limits: { networkQueriesPerMinute: 100_000 } }));
  simulator = await startTestSimulator({
    settings: {
      hie: { changes: 'honoured', async: false },
      pharmacy: { changes: 'honoured' },
      lab: { changes: 'honoured' },
    },
  });
});
afterAll(async () => {
  await simulator.close();
  await environment.close();
});
const addPatient = (rest = {}) =>
  environment.addPatient(
    accountId,
    {},
    {
      firstNames: createBody.firstName.split(/[,\s]+/),
      lastNames: createBody.lastName.split(/[,\s]+/),
      dob: createBody.dob,
      gender: createBody.genderAtBirth,
      addresses: createBody.address,
      contacts: createBody.contact,
      personalIdentifiers: createBody.personalIdentifiers,
      ...rest,
    },
  );
beforeEach(reset);
async function reset(): Promise<void> {
  await simulator.admin.clearRules();
  await simulator.admin.resetSettings();
  await simulator.admin.undoCorrections();
  await environment.store.asSystem((tx) => tx.db.deleteFrom('source_change_check').execute());
  patientId = await addPatient();
}

const AUTH = {
  hie: {
    kind: 'client-credentials',
    ...SIMULATOR_CREDENTIALS.hie,
    get tokenUrl() {
      return `${simulator.url}/hie/oauth/token`;
    },
  },
  pharmacy: { kind: 'bearer', token: SIMULATOR_CREDENTIALS.pharmacyToken },
  lab: { kind: 'bearer', token: SIMULATOR_CREDENTIALS.labToken },
} as const;

interface Options {
  of?: string;
  config?: Partial<SourceConfig>;
  /** How much later than now. */
  daysLater?: number;
  /** The same query again. */
  requestId?: string;
  /** The worker ends once all pages are stored. */
  endsAfterPages?: boolean;
}

/** One query of a source; fails if its step does. */
async function query(source: SourceType, options: Options = {}) {
  const { of = patientId, config = {}, daysLater = 0 } = options;
  const requestId = options.requestId ?? (await environment.addQuery(accountId, of, [source]));
  const baseUrl = `${simulator.url}/${source}/fhir`;
  const connector = createFhirConnector({ source, baseUrl, auth: AUTH[source], ...config });
  const { changes } = connector;
  const dying =
    changes === undefined || options.endsAfterPages !== true
      ? connector
      : { ...connector, changes: { ...changes, count: () => Promise.reject(new Error('the worker ended')) } };
  const clock = () => new Date(Date.now() + daysLater * 24 * 60 * 60_000);
  const activities = environment.activities(dying, { clock });
  const step = stepOf(accountId, requestId, source);
  let state = await runActivity(activities.askSource, step);
  while (state.state === 'waiting') state = await runActivity(activities.collectSource, step);
  const { attempts } = await environment.view(accountId, requestId);
  const lines = (await environment.timeline(accountId, requestId)).map(({ message }) => message);
  return {
    requestId,
    collected: attempts[0]?.resources ?? 0,
    lines,
    /** Whether only changes were asked for, and whether the source was then asked for everything. */
    asked: lines.some((line) => line.includes('is asked for everything'))
      ? 'everything after all'
      : lines.some((line) => line.includes('Asking only for what changed'))
        ? 'changes'
        : 'everything',
  };
}

/** The stored resources: name and text of its first code. */
const stored = (source: SourceType, of = patientId) =>
  environment.store.asAccount(accountId, async (tx) => {
    const rows = await tx.db
      .selectFrom('patient_resource')
      .select(['resource_type as type', 'source_id as id', 'content'])
      .where('patient_id', '=', of)
      .where('source', '=', source)
      .where('converted_from', 'is', null)
      .orderBy('resource_type')
      .orderBy('source_id')
      .execute();
    return new Map(rows.map(({ type, id, content }) => [`${type}/${id}`, { ...content, meta: undefined }]));
  });
const hasStored = async (source: SourceType, name: string) => (await stored(source)).has(name);

const NEW_RESOURCE = {
  hie: { resourceType: 'Condition', id: 'new', code: { text: 'gout' } },
  pharmacy: {
    resourceType: 'MedicationRequest',
    id: 'new',
    status: 'active',
    intent: 'order',
    medicationCodeableConcept: { text: 'colchicine' },
  },
  lab: {
    resourceType: 'Observation',
    id: 'new',
    status: 'final',
    category: [{ coding: [{ code: 'laboratory' }] }],
    code: { text: 'urate' },
  },
} as const;
const put = (source: SourceType, resource: { resourceType: string; id: string }, text?: string) =>
  simulator.admin.put({
    source,
    sample: SAMPLE,
    resource: {
      ...resource,
      subject: { reference: 'Patient/x' },
      ...(text === undefined ? {} : { code: { text } }),
    },
  });
const firstOf = async (source: SourceType, type: string) => {
  const name = [...(await stored(source)).keys()].find((each) => each.startsWith(`${type}/`));
  if (name === undefined) throw new Error(`the ${source} delivered no ${type}`);
  return name;
};
const HIE_ASYNC = { async: true, jobLatencyMs: { min: 0, max: 0 }, retryAfterSeconds: 0 } as const;

describe.each([
  ['hie', { hie: {} }, 1],
  ['hie', { hie: HIE_ASYNC }, 1],
  ['hie', { hie: { ...HIE_ASYNC, asyncResult: 'manifest' } }, 1],
  // The simulator's Patient has no time, so it is asked for each time.
  ['hie', { hie: { everything: false } }, 2],
  ['pharmacy', {}, 1],
  ['lab', {}, 1],
] as const)('a second query of the %s (%j)', (source, settings, collected) => {
  test('asks only for what is new, and the record has both', async () => {
    await simulator.admin.changeSettings(settings);
    const first = await query(source);
    expect(first.asked).toBe('everything');
    const before = await stored(source);
    const { resourceType, id } = NEW_RESOURCE[source];
    await put(source, NEW_RESOURCE[source]);

    const reads = async () => (await simulator.admin.requests({ source, operation: 'read' })).length;
    const readBefore = await reads();
    const second = await query(source);
    expect(second.asked).toBe('changes');
    expect(second.collected).toBe(collected);
    // What has not changed is not taken for missing.
    expect(await reads()).toBe(readBefore);
    const after = await stored(source);
    expect([...after.keys()].sort()).toEqual([...before.keys(), `${resourceType}/${id}`].sort());
    // Nothing has changed since, but the days overlap.
    expect(await query(source)).toMatchObject({ asked: 'changes', collected });
  });
});

test('timeline and record say since when changes were asked for, and when everything was', async () => {
  await query('lab');
  const { lines } = await query('lab');
  const minute = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d UTC`;
  expect(lines.join('\n')).toMatch(
    new RegExp(`Asking only for what changed since ${minute}; everything was last asked for at ${minute}`),
  );
  expect(lines.join('\n')).toMatch(
    new RegExp(`completed: 0 resources and 0 documents collected of what changed since ${minute}`),
  );
  const standing = await environment.store.asAccount(accountId, (tx) =>
    readRecordCompleteness(tx, patientId),
  );
  expect(completenessLines(standing).find((line) => line.startsWith('Lab'))).toMatch(
    /completed .*; \d+ resources and 0 documents; asked for what changed since .*; everything was last asked for .*\.$/,
  );
});

describe('everything is asked for', () => {
  test.each([
    ['ignored', 'everything'],
    ['nothing', 'everything'],
    ['untimed', 'everything'],
    ['older-too', 'everything after all'],
    ['uncounted', 'everything after all'],
  ] as const)('of a server that answers requests for changes so: %s', async (changes, asked) => {
    await simulator.admin.changeSettings({ lab: { changes }, pharmacy: { changes } });
    for (const source of ['lab', 'pharmacy'] as const) {
      await query(source);
      await put(source, NEW_RESOURCE[source]);
      const gone = await firstOf(source, source === 'lab' ? 'DiagnosticReport' : 'MedicationDispense');
      await simulator.admin.correct({ source, resource: gone });
      const second = await query(source);
      expect(second.asked).toBe(asked);
      expect(second.collected).toBeGreaterThan(3);
      expect(await hasStored(source, `${NEW_RESOURCE[source].resourceType}/new`)).toBe(true);
      // Compared as any complete answer.
      expect(await hasStored(source, gone)).toBe(false);
      // What was found out is remembered.
      expect((await query(source)).asked).toBe('everything');
    }
  });

  test.each([13, -13])('of a server whose clock is %i hours off', async (hours) => {
    await simulator.admin.changeSettings({ lab: { clockAheadMs: hours * 60 * 60_000 } });
    await query('lab');
    expect((await query('lab')).asked).toBe('everything');
  });

  test('after an answer with a gap', async () => {
    const settings = { ...HIE_ASYNC, asyncResult: 'manifest' } as const;
    await simulator.admin.changeSettings({ hie: { ...settings, manifestWithErrors: true } });
    await query('hie');
    await simulator.admin.changeSettings({ hie: { ...settings, manifestWithErrors: false } });
    expect((await query('hie')).asked).toBe('everything');
    expect((await query('hie')).asked).toBe('changes');
  });

  test('after a query that failed in the middle', async () => {
    await query('lab');
    await query('lab');
    await simulator.admin.setRules([
      {
        source: 'lab',
        operation: 'search',
        times: 1,
        fault: { type: 'status', status: 403, code: 'suppressed' },
      },
    ]);
    await expect(query('lab')).rejects.toThrow('403');
    await simulator.admin.clearRules();
    expect((await query('lab')).asked).toBe('everything');
  });

  test('when it was last asked for a week ago, or the days that the connection sets', async () => {
    await query('lab');
    expect((await query('lab', { daysLater: 6.9 })).asked).toBe('changes');
    expect((await query('lab', { daysLater: 7.1 })).asked).toBe('everything');
    const config = { fullAfterDays: 2 };
    await query('lab', { daysLater: 8, config });
    expect((await query('lab', { daysLater: 10.1, config })).asked).toBe('everything');
  });

  test.each([
    ['its scope', { auth: { kind: 'bearer', token: SIMULATOR_CREDENTIALS.labToken }, revision: 2 }],
    ['the largest document', { documentBytesMax: 1_000_000 }],
    ['the switch, now off', { incremental: false }],
  ] as const)('when the connection has changed: %s', async (_what, config) => {
    await query('lab');
    expect((await query('lab', { config })).asked).toBe('everything');
  });

  test('when the person has changed', async () => {
    await query('lab');
    await environment.store.asAccount(accountId, (tx) =>
      tx.db
        .updateTable('patient')
        .set({ contacts: JSON.stringify([{ phone: '6175550999' }]) })
        .where('id', '=', patientId)
        .execute(),
    );
    expect((await query('lab')).asked).toBe('everything');
  });
});

test('a clock some hours off hides nothing', async () => {
  await simulator.admin.changeSettings({ lab: { clockAheadMs: -11 * 60 * 60_000 } });
  await query('lab');
  await put('lab', NEW_RESOURCE.lab);
  expect(await query('lab')).toMatchObject({ asked: 'changes', collected: 1 });
});

describe('an answer with changes', () => {
  test.each([
    ['deleted', 'lab', 'Observation'],
    ['moved', 'lab', 'Observation'],
    ['deleted', 'pharmacy', 'MedicationDispense'],
  ] as const)('that does not show what was %s leads to a complete one (%s)', async (how, source, type) => {
    await query(source);
    const gone = await firstOf(source, type);
    const to = how === 'moved' ? { to: 'tamica-murazik' } : {};
    await simulator.admin.correct({ source, resource: gone, ...to });
    const second = await query(source);
    expect(second.asked).toBe('everything after all');
    expect(second.lines.join()).toContain('counts other numbers of resources than the record has');
    expect(await hasStored(source, gone)).toBe(false);
    expect((await query(source)).asked).toBe('changes');
  });

  test('that lacks what was filed with an old time leads to a complete one', async () => {
    await query('lab');
    await simulator.admin.changeSettings({ lab: { clockAheadMs: -40 * 24 * 60 * 60_000 } });
    await put('lab', NEW_RESOURCE.lab);
    await simulator.admin.changeSettings({ lab: { clockAheadMs: 0 } });
    expect((await query('lab')).asked).toBe('everything after all');
    expect(await hasStored('lab', 'Observation/new')).toBe(true);
  });

  test('is compared with counts as they differed before: a source counts what is not kept, too', async () => {
    const vital = { ...NEW_RESOURCE.lab, id: 'vital', category: [{ coding: [{ code: 'vital-signs' }] }] };
    await put('lab', vital);
    await query('lab');
    expect(await hasStored('lab', 'Observation/vital')).toBe(false);
    expect((await query('lab')).asked).toBe('everything after all');
    expect((await query('lab')).asked).toBe('changes');
    await put('lab', NEW_RESOURCE.lab);
    expect((await query('lab')).asked).toBe('changes');
  });

  test('is not completed before the counts were compared, when the step ended in between', async () => {
    await query('lab');
    await query('lab');
    const gone = await firstOf('lab', 'Observation');
    await simulator.admin.correct({ source: 'lab', resource: gone });
    const requestId = await environment.addQuery(accountId, patientId, ['lab']);
    await expect(query('lab', { requestId, endsAfterPages: true })).rejects.toThrow('the worker ended');
    expect((await query('lab', { requestId })).asked).toBe('everything after all');
    expect(await hasStored('lab', gone)).toBe(false);
  });

  test('retires what a bulk answer names as deleted', async () => {
    await simulator.admin.changeSettings({ hie: { ...HIE_ASYNC, asyncResult: 'manifest' } });
    await query('hie');
    const gone = await firstOf('hie', 'Observation');
    await simulator.admin.correct({ source: 'hie', resource: gone });
    expect(await query('hie')).toMatchObject({ asked: 'changes' });
    expect(await hasStored('hie', gone)).toBe(false);
  });

  test('has what others refer to, when it alone has changed', async () => {
    await query('lab');
    const name = await firstOf('lab', 'Organization');
    const [, id = ''] = name.split('/');
    await simulator.admin.put({
      source: 'lab',
      sample: SAMPLE,
      resource: { resourceType: 'Organization', id, name: 'Renamed' },
    });
    expect(await query('lab')).toMatchObject({ asked: 'changes', collected: 1 });
    expect((await stored('lab')).get(name)).toMatchObject({ name: 'Renamed' });
  });

  test('is continued by a step after one that ended in the middle, as an answer with changes', async () => {
    await query('lab');
    const held = (await stored('lab')).size;
    for (const id of ['n1', 'n2', 'n3']) await put('lab', { ...NEW_RESOURCE.lab, id });
    // Another page size is no other connection.
    await query('lab', { config: { pageSize: 1 } });
    for (const id of ['n4', 'n5', 'n6']) await put('lab', { ...NEW_RESOURCE.lab, id });
    const requestId = await environment.addQuery(accountId, patientId, ['lab']);
    await simulator.admin.setRules([
      { source: 'lab', operation: 'page', times: 1, fault: { type: 'status', status: 503 } },
    ]);
    const config = { pageSize: 1 };
    await expect(query('lab', { requestId, config })).rejects.toThrow('503');
    const resumed = await query('lab', { requestId, config });
    expect(resumed).toMatchObject({ asked: 'changes', collected: 6 });
    expect((await stored('lab')).size).toBe(held + 6);
    expect(resumed.lines.filter((line) => line.includes('Asking only'))).toHaveLength(1);
  });
});

const change = fc.record({
  type: fc.constantFrom('Observation', 'DiagnosticReport'),
  id: fc.constantFrom('a', 'b', 'c', 'd'),
  text: fc.constantFrom('one', 'two', 'three'),
});
property([fc.array(fc.array(change, { maxLength: 4 }), { minLength: 1, maxLength: 3 })], { numRuns: 8 })(
  'after additions and changes, the record is the one that a complete answer gives',
  async (rounds) => {
    await reset();
    const [often, once] = [await addPatient(), await addPatient()];
    await query('lab', { of: often });
    for (const changes of rounds) {
      for (const { type: resourceType, id, text } of changes)
        await put('lab', { ...NEW_RESOURCE.lab, resourceType, id }, text);
      expect((await query('lab', { of: often })).asked).toBe('changes');
    }
    expect((await query('lab', { of: once })).asked).toBe('everything');
    expect(await stored('lab', often)).toEqual(await stored('lab', once));
  },
);
