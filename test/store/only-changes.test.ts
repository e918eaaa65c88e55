import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { SourceType } from '../../src/contract/primitives.ts';
import {
  completenessLines,
  readRecordCompleteness,
} from '../../src/exchange/records/reading/completeness.ts';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import type { SourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';
import { queryTest } from '../support/fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { propertyOf } from '../support/property.ts';
import {
  SIMULATOR_CREDENTIALS,
  sample,
  startTestSimulator,
} from '../support/simulator.ts';

const test = queryTest
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which other fixtures one needs
  .extend('simulator', { scope: 'file' }, async ({}, { onCleanup }) => {
    const simulator = await startTestSimulator({
      settings: {
        hie: { changes: 'honoured', async: false },
        pharmacy: { changes: 'honoured' },
        lab: { changes: 'honoured' },
      },
    });
    onCleanup(simulator.close);
    return simulator;
  })
  .extend('querying', async ({ account, simulator }) => {
    const addPatient = (rest = {}) =>
      account.addPatient(
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
    async function reset(): Promise<void> {
      await simulator.admin.clearRules();
      await simulator.admin.resetSettings();
      await simulator.admin.undoCorrections();
      await account.store.asSystem((tx) =>
        tx.db.deleteFrom('source_change_check').execute(),
      );
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
    /** One query of a source; fails if its step does. */
    async function query(source: SourceType, options: Options = {}) {
      const { of = patientId, config = {}, daysLater = 0 } = options;
      const requestId =
        options.requestId ?? (await account.addQuery(of, [source]));
      const baseUrl = `${simulator.url}/${source}/fhir`;
      const connector = createFhirConnector({
        source,
        baseUrl,
        auth: AUTH[source],
        ...config,
      });
      const { changes } = connector;
      const dying =
        changes === undefined || options.endsAfterPages !== true
          ? connector
          : {
              ...connector,
              changes: {
                ...changes,
                count: () => Promise.reject(new Error('the worker ended')),
              },
            };
      const clock = () => new Date(Date.now() + daysLater * 24 * 60 * 60_000);
      const activities = account.activities(dying, { clock });
      const step = account.step(requestId, source);
      let state = await runActivity(activities.askSource, step);
      while (state.state === 'waiting')
        state = await runActivity(activities.collectSource, step);
      const { attempts } = await account.view(requestId);
      const lines = (await account.timeline(requestId)).map(
        ({ message }) => message,
      );
      return {
        requestId,
        collected: attempts[0]?.resources ?? 0,
        lines,
        /**
         * Whether only changes were asked for, and whether the source was then
         * asked for everything.
         */
        asked: lines.some((line) => line.includes('is asked for everything'))
          ? 'everything after all'
          : lines.some((line) => line.includes('Asking only for what changed'))
            ? 'changes'
            : 'everything',
      };
    }
    /** The stored resources: name and text of its first code. */
    const stored = (source: SourceType, of = patientId) =>
      account.inTx(async (tx) => {
        const rows = await tx.db
          .selectFrom('delivered_resource')
          .select(['resource_type as type', 'source_id as id', 'content'])
          .where('patient_id', '=', of)
          .where('source', '=', source)
          .where('converted_from', 'is', null)
          .orderBy('resource_type')
          .orderBy('source_id')
          .execute();
        return new Map(
          rows.map(({ type, id, content }) => [
            `${type}/${id}`,
            { ...content, meta: undefined },
          ]),
        );
      });
    const hasStored = async (source: SourceType, name: string) =>
      (await stored(source)).has(name);
    const put = (
      source: SourceType,
      resource: { resourceType: string; id: string },
      text?: string,
    ) =>
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
      const name = [...(await stored(source)).keys()].find((each) =>
        each.startsWith(`${type}/`),
      );
      if (name === undefined)
        throw new Error(`the ${source} delivered no ${type}`);
      return name;
    };
    await reset();
    const patientId = await addPatient();
    return {
      ...account,
      admin: simulator.admin,
      patientId,
      addPatient,
      reset,
      query,
      stored,
      hasStored,
      put,
      firstOf,
    };
  });
const SAMPLE = 'keith-kiehn';
const { createBody } = sample(SAMPLE);

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
const HIE_ASYNC = {
  async: true,
  jobLatencyMs: { min: 0, max: 0 },
  retryAfterSeconds: 0,
} as const;

describe.each([
  ['hie', { hie: {} }, 1],
  ['hie', { hie: HIE_ASYNC }, 1],
  ['hie', { hie: { ...HIE_ASYNC, asyncResult: 'manifest' } }, 1],
  // The simulator's Patient has no time, so it is asked for each time.
  ['hie', { hie: { everything: false } }, 2],
  ['pharmacy', {}, 1],
  ['lab', {}, 1],
] as const)('a second query of the %s (%j)', (source, settings, collected) => {
  test('asks only for what is new, and the record has both', async ({
    querying,
  }) => {
    await querying.admin.changeSettings(settings);
    const first = await querying.query(source);
    expect(first.asked).toBe('everything');
    const before = await querying.stored(source);
    const { resourceType, id } = NEW_RESOURCE[source];
    await querying.put(source, NEW_RESOURCE[source]);

    const reads = async () =>
      (await querying.admin.requests({ source, operation: 'read' })).length;
    const readBefore = await reads();
    const second = await querying.query(source);
    expect(second.asked).toBe('changes');
    expect(second.collected).toBe(collected);
    // What has not changed is not taken for missing.
    expect(await reads()).toBe(readBefore);
    const after = await querying.stored(source);
    expect([...after.keys()].sort()).toEqual(
      [...before.keys(), `${resourceType}/${id}`].sort(),
    );
    // Nothing has changed since, but the days overlap.
    expect(await querying.query(source)).toMatchObject({
      asked: 'changes',
      collected,
    });
  });
});

test('timeline and record say since when changes were asked for, and when everything was', async ({
  querying,
}) => {
  await querying.query('lab');
  const { lines } = await querying.query('lab');
  const minute = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d UTC`;
  expect(lines.join('\n')).toMatch(
    new RegExp(
      `Asking only for what changed since ${minute}; everything was last asked for at ${minute}`,
    ),
  );
  expect(lines.join('\n')).toMatch(
    new RegExp(
      `completed: 0 resources and 0 documents collected of what changed since ${minute}`,
    ),
  );
  const standing = await querying.inTx((tx) =>
    readRecordCompleteness(tx, querying.patientId),
  );
  expect(
    completenessLines(standing).find((line) => line.startsWith('Lab')),
  ).toMatch(
    /completed .*; \d+ resources and 0 documents; asked for what changed since .*; everything was last asked for .*\.$/,
  );
});

describe('everything is asked for', () => {
  test.for([
    ['ignored', 'everything'],
    ['nothing', 'everything'],
    ['untimed', 'everything'],
    ['older-too', 'everything after all'],
    ['uncounted', 'everything after all'],
  ] as const)(
    'of a server that answers requests for changes so: %s',
    async ([changes, asked], { querying }) => {
      await querying.admin.changeSettings({
        lab: { changes },
        pharmacy: { changes },
      });
      for (const source of ['lab', 'pharmacy'] as const) {
        await querying.query(source);
        await querying.put(source, NEW_RESOURCE[source]);
        const gone = await querying.firstOf(
          source,
          source === 'lab' ? 'DiagnosticReport' : 'MedicationDispense',
        );
        await querying.admin.correct({ source, resource: gone });
        const second = await querying.query(source);
        expect(second.asked).toBe(asked);
        expect(second.collected).toBeGreaterThan(3);
        expect(
          await querying.hasStored(
            source,
            `${NEW_RESOURCE[source].resourceType}/new`,
          ),
        ).toBe(true);
        // Compared as any complete answer.
        expect(await querying.hasStored(source, gone)).toBe(false);
        // What was found out is remembered.
        expect((await querying.query(source)).asked).toBe('everything');
      }
    },
  );

  test.for([13, -13])(
    'of a server whose clock is %i hours off',
    async (hours, { querying }) => {
      await querying.admin.changeSettings({
        lab: { clockAheadMs: hours * 60 * 60_000 },
      });
      await querying.query('lab');
      expect((await querying.query('lab')).asked).toBe('everything');
    },
  );

  test('after an answer with a gap', async ({ querying }) => {
    const settings = { ...HIE_ASYNC, asyncResult: 'manifest' } as const;
    await querying.admin.changeSettings({
      hie: { ...settings, manifestWithErrors: true },
    });
    await querying.query('hie');
    await querying.admin.changeSettings({
      hie: { ...settings, manifestWithErrors: false },
    });
    expect((await querying.query('hie')).asked).toBe('everything');
    expect((await querying.query('hie')).asked).toBe('changes');
  });

  test('after a query that failed in the middle', async ({ querying }) => {
    await querying.query('lab');
    await querying.query('lab');
    await querying.admin.setRules([
      {
        source: 'lab',
        operation: 'search',
        times: 1,
        fault: { type: 'status', status: 403, code: 'suppressed' },
      },
    ]);
    await expect(querying.query('lab')).rejects.toThrow('403');
    await querying.admin.clearRules();
    expect((await querying.query('lab')).asked).toBe('everything');
  });

  test('when it was last asked for a week ago, or the days that the connection sets', async ({
    querying,
  }) => {
    await querying.query('lab');
    expect((await querying.query('lab', { daysLater: 6.9 })).asked).toBe(
      'changes',
    );
    expect((await querying.query('lab', { daysLater: 7.1 })).asked).toBe(
      'everything',
    );
    const config = { fullAfterDays: 2 };
    await querying.query('lab', { daysLater: 8, config });
    expect(
      (await querying.query('lab', { daysLater: 10.1, config })).asked,
    ).toBe('everything');
  });

  test.for([
    [
      'its scope',
      {
        auth: { kind: 'bearer', token: SIMULATOR_CREDENTIALS.labToken },
        revision: 2,
      },
    ],
    ['the largest document', { documentBytesMax: 1_000_000 }],
    ['the switch, now off', { incremental: false }],
  ] as const)(
    'when the connection has changed: %s',
    async ([_what, config], { querying }) => {
      await querying.query('lab');
      expect((await querying.query('lab', { config })).asked).toBe(
        'everything',
      );
    },
  );

  test('when the person has changed', async ({ querying }) => {
    await querying.query('lab');
    await querying.inTx((tx) =>
      tx.db
        .updateTable('patient')
        .set({ contacts: JSON.stringify([{ phone: '6175550999' }]) })
        .where('id', '=', querying.patientId)
        .execute(),
    );
    expect((await querying.query('lab')).asked).toBe('everything');
  });
});

test('a clock some hours off hides nothing', async ({ querying }) => {
  await querying.admin.changeSettings({
    lab: { clockAheadMs: -11 * 60 * 60_000 },
  });
  await querying.query('lab');
  await querying.put('lab', NEW_RESOURCE.lab);
  expect(await querying.query('lab')).toMatchObject({
    asked: 'changes',
    collected: 1,
  });
});

describe('an answer with changes', () => {
  test.for([
    ['deleted', 'lab', 'Observation'],
    ['moved', 'lab', 'Observation'],
    ['deleted', 'pharmacy', 'MedicationDispense'],
  ] as const)(
    'that does not show what was %s leads to a complete one (%s)',
    async ([how, source, type], { querying }) => {
      await querying.query(source);
      const gone = await querying.firstOf(source, type);
      const to = how === 'moved' ? { to: 'tamica-murazik' } : {};
      await querying.admin.correct({ source, resource: gone, ...to });
      const second = await querying.query(source);
      expect(second.asked).toBe('everything after all');
      expect(second.lines.join()).toContain(
        'counts other numbers of resources than the record has',
      );
      expect(await querying.hasStored(source, gone)).toBe(false);
      expect((await querying.query(source)).asked).toBe('changes');
    },
  );

  test('that lacks what was filed with an old time leads to a complete one', async ({
    querying,
  }) => {
    await querying.query('lab');
    await querying.admin.changeSettings({
      lab: { clockAheadMs: -40 * 24 * 60 * 60_000 },
    });
    await querying.put('lab', NEW_RESOURCE.lab);
    await querying.admin.changeSettings({ lab: { clockAheadMs: 0 } });
    expect((await querying.query('lab')).asked).toBe('everything after all');
    expect(await querying.hasStored('lab', 'Observation/new')).toBe(true);
  });

  test('is compared with counts as they differed before: a source counts what is not kept, too', async ({
    querying,
  }) => {
    const vital = {
      ...NEW_RESOURCE.lab,
      id: 'vital',
      category: [{ coding: [{ code: 'vital-signs' }] }],
    };
    await querying.put('lab', vital);
    await querying.query('lab');
    expect(await querying.hasStored('lab', 'Observation/vital')).toBe(false);
    expect((await querying.query('lab')).asked).toBe('everything after all');
    expect((await querying.query('lab')).asked).toBe('changes');
    await querying.put('lab', NEW_RESOURCE.lab);
    expect((await querying.query('lab')).asked).toBe('changes');
  });

  test('is not completed before the counts were compared, when the step ended in between', async ({
    querying,
  }) => {
    await querying.query('lab');
    await querying.query('lab');
    const gone = await querying.firstOf('lab', 'Observation');
    await querying.admin.correct({ source: 'lab', resource: gone });
    const requestId = await querying.addQuery(querying.patientId, ['lab']);
    await expect(
      querying.query('lab', { requestId, endsAfterPages: true }),
    ).rejects.toThrow('the worker ended');
    expect((await querying.query('lab', { requestId })).asked).toBe(
      'everything after all',
    );
    expect(await querying.hasStored('lab', gone)).toBe(false);
  });

  test('retires what a bulk answer names as deleted', async ({ querying }) => {
    await querying.admin.changeSettings({
      hie: { ...HIE_ASYNC, asyncResult: 'manifest' },
    });
    await querying.query('hie');
    const gone = await querying.firstOf('hie', 'Observation');
    await querying.admin.correct({ source: 'hie', resource: gone });
    expect(await querying.query('hie')).toMatchObject({ asked: 'changes' });
    expect(await querying.hasStored('hie', gone)).toBe(false);
  });

  test('has what others refer to, when it alone has changed', async ({
    querying,
  }) => {
    await querying.query('lab');
    const name = await querying.firstOf('lab', 'Organization');
    const [, id = ''] = name.split('/');
    await querying.admin.put({
      source: 'lab',
      sample: SAMPLE,
      resource: { resourceType: 'Organization', id, name: 'Renamed' },
    });
    expect(await querying.query('lab')).toMatchObject({
      asked: 'changes',
      collected: 1,
    });
    expect((await querying.stored('lab')).get(name)).toMatchObject({
      name: 'Renamed',
    });
  });

  test('is continued by a step after one that ended in the middle, as an answer with changes', async ({
    querying,
  }) => {
    await querying.query('lab');
    const held = (await querying.stored('lab')).size;
    for (const id of ['n1', 'n2', 'n3'])
      await querying.put('lab', { ...NEW_RESOURCE.lab, id });
    // Another page size is no other connection.
    await querying.query('lab', { config: { pageSize: 1 } });
    for (const id of ['n4', 'n5', 'n6'])
      await querying.put('lab', { ...NEW_RESOURCE.lab, id });
    const requestId = await querying.addQuery(querying.patientId, ['lab']);
    await querying.admin.setRules([
      {
        source: 'lab',
        operation: 'page',
        times: 1,
        fault: { type: 'status', status: 503 },
      },
    ]);
    const config = { pageSize: 1 };
    await expect(querying.query('lab', { requestId, config })).rejects.toThrow(
      '503',
    );
    const resumed = await querying.query('lab', { requestId, config });
    expect(resumed).toMatchObject({ asked: 'changes', collected: 6 });
    expect((await querying.stored('lab')).size).toBe(held + 6);
    expect(
      resumed.lines.filter((line) => line.includes('Asking only')),
    ).toHaveLength(1);
  });
});

const change = fc.record({
  type: fc.constantFrom('Observation', 'DiagnosticReport'),
  id: fc.constantFrom('a', 'b', 'c', 'd'),
  text: fc.constantFrom('one', 'two', 'three'),
});
const rounds = propertyOf(
  [
    fc.array(fc.array(change, { maxLength: 4 }), {
      minLength: 1,
      maxLength: 3,
    }),
  ],
  {
    numRuns: 8,
  },
);
test(
  rounds.named(
    'after additions and changes, the record is the one that a complete answer gives',
  ),
  async ({ querying }) =>
    rounds.holds(async (rounds) => {
      await querying.reset();
      const often = await querying.addPatient();
      const once = await querying.addPatient();
      await querying.query('lab', { of: often });
      for (const changes of rounds) {
        for (const { type: resourceType, id, text } of changes)
          await querying.put(
            'lab',
            { ...NEW_RESOURCE.lab, resourceType, id },
            text,
          );
        expect((await querying.query('lab', { of: often })).asked).toBe(
          'changes',
        );
      }
      expect((await querying.query('lab', { of: once })).asked).toBe(
        'everything',
      );
      expect(await querying.stored('lab', often)).toEqual(
        await querying.stored('lab', once),
      );
    }),
);
