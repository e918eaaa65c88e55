import { describe, expect } from 'vitest';
import {
  ChangesNotHonoured,
  type ChangesQuestion,
} from '../../../src/exchange/sources/connectors/connector.ts';
import {
  type Asked,
  ada,
  adaAtSource,
  allOf,
  bundle,
  connect,
  type FakeSource,
  idsOf,
  never,
  type Reply,
  type Route,
  sourceTest as test,
} from '../../support/fake-source.ts';

const STORED_AT = '2026-03-01T08:00:00.000Z';
const SINCE = '2026-05-01T00:00:00.000Z';
const CHANGED_AT = '2026-06-01T00:00:00.000Z';

const condition = (id: string, lastUpdated?: string) => ({
  resourceType: 'Condition',
  id,
  meta: { lastUpdated },
  subject: { reference: 'Patient/p1' },
});
const question = (rest: Partial<ChangesQuestion> = {}): ChangesQuestion => ({
  since: SINCE,
  patientIds: ['p1'],
  newest: [{ resourceType: 'Condition', id: 'c1', lastUpdated: STORED_AT }],
  supporting: [],
  honoured: {},
  ...rest,
});
const statement = (searchParam: string[], operation: string[] = []) => ({
  json: {
    resourceType: 'CapabilityStatement',
    rest: [
      {
        mode: 'server',
        operation: operation.map((name) => ({ name })),
        resource: [
          {
            type: 'Condition',
            searchParam: searchParam.map((name) => ({ name })),
          },
        ],
      },
    ],
  },
});
const timeOf = ({ body, path }: Asked) => {
  const parameters = new URLSearchParams(
    body === '' ? path.split('?')[1] : body,
  );
  return (
    parameters.get('_since') ??
    parameters.get('_lastUpdated')?.replace('gt', '') ??
    undefined
  );
};
/**
 * Conditions that a server has, of which it returns what is newer than the time
 * that it is asked for.
 */
const honouring =
  (...all: ReturnType<typeof condition>[]) =>
  (asked: Asked) => {
    const time = timeOf(asked);
    const id = new URLSearchParams(asked.body).get('_id');
    const found = all.filter((each) => id === null || each.id === id);
    return {
      json: bundle(
        found.filter(
          ({ meta }) => time === undefined || (meta.lastUpdated ?? '') > time,
        ),
      ),
    };
  };

async function ask(source: FakeSource, changes: ChangesQuestion = question()) {
  const begun = await connect(source).begin(ada, { changes }, never);
  if (begun.kind !== 'ready')
    throw new Error(`the source answered ${begun.kind}`);
  return {
    since: begun.since,
    checked: begun.checked,
    ids: idsOf(await allOf(begun.pages)),
  };
}
const timesSearched = (source: FakeSource) =>
  source.askedFor('POST Condition/_search').map(timeOf);

describe('a server that is searched by type', () => {
  const searched = (
    source: FakeSource,
    search: Route,
    parameters = ['patient', '_lastUpdated'],
  ) =>
    source.serve({
      'GET metadata': statement(parameters, ['match']),
      'POST Condition/_search': search,
    });

  test('is asked for changes once it was seen to honour the time, and not checked again', async ({
    source,
  }) => {
    searched(
      source,
      honouring(condition('c1', STORED_AT), condition('c2', CHANGED_AT)),
    );
    expect(await ask(source)).toEqual({
      since: SINCE,
      checked: { Condition: true },
      ids: ['Condition/c2'],
    });
    const [future, justBefore, real] = timesSearched(source);
    expect(Date.parse(future ?? '')).toBeGreaterThan(Date.now());
    expect([justBefore, real]).toEqual(['2026-03-01T07:59:58.000Z', SINCE]);

    source.asked.length = 0;
    // A known result is not returned again: it would never age.
    expect(
      await ask(source, question({ honoured: { Condition: true } })),
    ).toMatchObject({
      since: SINCE,
      checked: {},
    });
    expect(timesSearched(source)).toEqual([SINCE]);
  });

  test.for<[string, (asked: Asked) => Reply]>([
    [
      'ignores the time',
      () => ({ json: bundle([condition('c1', STORED_AT)]) }),
    ],
    [
      'returns nothing with a time',
      (asked) =>
        timeOf(asked) === undefined
          ? { json: bundle([condition('c1', STORED_AT)]) }
          : { json: bundle([]) },
    ],
    [
      'refuses the time',
      (asked) =>
        timeOf(asked) === undefined
          ? { json: bundle([condition('c1', STORED_AT)]) }
          : { status: 400 },
    ],
    [
      'does not repeat the time in its link',
      (asked) => ({
        json: {
          ...honouring(condition('c1', STORED_AT))(asked).json,
          link: [
            {
              relation: 'self',
              url: `http://${asked.headers.host}/fhir/Condition?patient=Patient%2Fp1`,
            },
          ],
        },
      }),
    ],
  ])('and %s is asked for everything', async ([_how, search], { source }) => {
    searched(source, search);
    expect(await ask(source)).toEqual({
      since: undefined,
      checked: { Condition: false },
      ids: ['Condition/c1'],
    });
    expect(timesSearched(source).at(-1)).toBeUndefined();
  });

  test('whose statement lists parameters, but not this one, is not even checked', async ({
    source,
  }) => {
    searched(source, honouring(condition('c1', STORED_AT)), ['patient']);
    expect(await ask(source)).toMatchObject({
      since: undefined,
      ids: ['Condition/c1'],
    });
    expect(timesSearched(source)).toEqual([undefined]);
  });

  test('and that is not available during the check is asked for everything, and nothing is concluded', async ({
    source,
  }) => {
    let isFirst = true;
    searched(source, (asked) => {
      if (!isFirst) return honouring(condition('c1', STORED_AT))(asked);
      isFirst = false;
      return { status: 503 };
    });
    expect(await ask(source)).toEqual({
      since: undefined,
      checked: {},
      ids: ['Condition/c1'],
    });
  });

  test('and refuses later what it honoured is not taken for one without changes', async ({
    source,
  }) => {
    searched(source, (asked) =>
      timeOf(asked) === undefined
        ? { json: bundle([condition('c1')]) }
        : { status: 400 },
    );
    const asking = ask(source, question({ honoured: { Condition: true } }));
    await expect(asking).rejects.toThrow(ChangesNotHonoured);
  });

  test.for<[string, string | undefined]>([
    ['older than asked for', STORED_AT],
    ['without a time', undefined],
  ])(
    'whose answer contains something %s is not trusted',
    async ([_what, lastUpdated], { source }) => {
      searched(source, {
        json: bundle([
          condition('c1', CHANGED_AT),
          condition('c2', lastUpdated),
        ]),
      });
      await expect(
        ask(source, question({ honoured: { Condition: true } })),
      ).rejects.toThrow(ChangesNotHonoured);
    },
  );

  test('is asked for everything when it now knows the person by other ids', async ({
    source,
  }) => {
    searched(source, honouring(condition('c1', STORED_AT)));
    expect(
      await ask(source, question({ patientIds: ['p1', 'p2'] })),
    ).toMatchObject({ since: undefined });
    expect(timesSearched(source)).toEqual([undefined]);
  });
});

describe('a server with $everything', () => {
  const withEverything = (source: FakeSource, everything: Route) =>
    source.serveEverything(everything, {
      'GET metadata': statement(
        ['patient', '_lastUpdated'],
        ['match', 'everything'],
      ),
      'DELETE jobs/1': { status: 202 },
    });

  test('may always return the Patient and what others refer to', async ({
    source,
  }) => {
    const constant = [
      adaAtSource,
      {
        resourceType: 'Organization',
        id: 'o1',
        meta: { lastUpdated: STORED_AT },
      },
    ];
    const conditions = honouring(
      condition('c1', STORED_AT),
      condition('c2', CHANGED_AT),
    );
    withEverything(source, (asked) => ({
      json: bundle([
        ...constant,
        ...conditions(asked).json.entry.map(({ resource }) => resource),
      ]),
    }));
    expect(await ask(source)).toEqual({
      since: SINCE,
      checked: { everything: true },
      ids: ['Patient/p1', 'Organization/o1', 'Condition/c2'],
    });
  });

  test('that ignores the time is asked for everything, not searched by type', async ({
    source,
  }) => {
    withEverything(source, {
      json: bundle([adaAtSource, condition('c1', STORED_AT)]),
    });
    expect(await ask(source)).toMatchObject({
      since: undefined,
      checked: { everything: false },
    });
    expect(source.askedFor('POST Condition')).toEqual([]);
  });

  test('that refuses the time is asked for everything at once', async ({
    source,
  }) => {
    withEverything(source, (asked) =>
      timeOf(asked) === undefined
        ? { json: bundle([condition('c1', STORED_AT)]) }
        : { status: 400 },
    );
    const expected = {
      since: undefined,
      checked: { everything: false },
      ids: ['Condition/c1'],
    };
    expect(
      await ask(source, question({ honoured: { everything: true } })),
    ).toEqual(expected);
  });

  test('that makes a job of the check is asked for everything, and the job is cancelled', async ({
    source,
  }) => {
    withEverything(source, (asked) =>
      timeOf(asked) === undefined
        ? { json: bundle([condition('c1', STORED_AT)]) }
        : {
            status: 202,
            headers: { 'content-location': `${source.baseUrl}/jobs/1` },
          },
    );
    expect(await ask(source)).toMatchObject({
      since: undefined,
      checked: { everything: false },
    });
    expect(source.askedFor('DELETE jobs/1')).toHaveLength(1);
  });

  test('is asked for changes by a job that builds before this one leave alone', async ({
    source,
  }) => {
    withEverything(source, {
      status: 202,
      headers: { 'content-location': `${source.baseUrl}/jobs/1` },
    });
    const changes = question({ honoured: { everything: true } });
    const begun = await connect(source).begin(ada, { changes }, never);
    expect(begun).toMatchObject({
      kind: 'accepted',
      since: SINCE,
      job: { version: 2, since: SINCE },
    });
  });
});
