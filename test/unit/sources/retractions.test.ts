import { describe, expect } from 'vitest';
import { SourceFailure } from '../../../src/exchange/sources/connectors/connector.ts';
import {
  ada,
  allOf,
  condition,
  connect,
  type FakeSource,
  idsOf,
  never,
  sourceTest as test,
} from '../../support/fake-source.ts';

const deleted = (id: string) => ({
  resourceType: 'Condition',
  id,
  reason: 'deleted',
  revision: '',
  patientIds: [],
});

describe('an answer says of a resource that it is gone', () => {
  const pageOf = async (source: FakeSource, json: unknown) => {
    source.serveEverything({ json });
    const [page] = await source.collect();
    if (page === undefined) throw new Error('no page');
    return page;
  };
  const bundleOf = (entry: unknown[], type = 'searchset') => ({
    resourceType: 'Bundle',
    type,
    entry,
  });

  test.for<[string, object]>([
    ['a deletion', { request: { method: 'DELETE', url: 'Condition/c1' } }],
    [
      'a deletion at an address',
      { request: { method: 'DELETE', url: '/Condition/c1' } },
    ],
    [
      'the status 410',
      { fullUrl: 'Condition/c1', response: { status: '410 Gone' } },
    ],
  ])('by %s: it is retracted, and no stray', async ([_, entry], { source }) => {
    const page = await pageOf(
      source,
      bundleOf([entry, { resource: condition('c2') }]),
    );
    expect(page).toMatchObject({
      retracted: [deleted('c1')],
      misattributedCount: 0,
    });
    expect(idsOf([page])).toEqual(['Condition/c2']);
  });

  test('by naming another patient: it is retracted with whom it names', async ({
    source,
  }) => {
    const page = await pageOf(
      source,
      bundleOf([
        {
          resource: {
            ...condition('c1', 'Patient/p9'),
            meta: { lastUpdated: '2026-01-02T00:00:00Z' },
          },
        },
        { resource: condition('c2') },
      ]),
    );
    expect(page.retracted).toEqual([
      {
        ...deleted('c1'),
        reason: 'moved',
        revision: expect.stringMatching(/^2026-01-02/),
        patientIds: ['p9'],
      },
    ]);
  });

  test('of a history the newest version counts, whether it is the deletion or what came after it', async ({
    source,
  }) => {
    const deletion = (id: string) => ({
      request: { method: 'DELETE', url: `Condition/${id}` },
    });
    const page = await pageOf(
      source,
      bundleOf(
        [
          deletion('c1/_history/3'),
          { resource: condition('c1') },
          { resource: condition('c2') },
          deletion('c2/_history/1'),
        ],
        'history',
      ),
    );
    expect(page.retracted).toEqual([deleted('c1')]);
    expect(idsOf([page])).toEqual(['Condition/c2']);
  });

  test('not when the same answer brings it', async ({ source }) => {
    const page = await pageOf(
      source,
      bundleOf([
        { request: { method: 'DELETE', url: 'Condition/c1' } },
        { resource: condition('c1') },
      ]),
    );
    expect(page.retracted).toEqual([]);
  });

  test('not by an address at another server', async ({ source }) => {
    const url = 'https://other.example/fhir/Condition/c1';
    const page = await pageOf(
      source,
      bundleOf([
        { request: { method: 'DELETE', url } },
        { resource: condition('c2') },
      ]),
    );
    expect(page.retracted).toEqual([]);
  });

  test('in the list of deleted resources of a bulk manifest', async ({
    source,
  }) => {
    const gone = bundleOf(
      [{ request: { method: 'DELETE', url: 'Condition/c1' } }],
      'transaction',
    );
    source.serve({
      'GET Patient/p1/$everything': {
        status: 202,
        headers: { 'content-location': '/fhir/jobs/1' },
      },
      'GET jobs/1': () => ({
        json: {
          output: [{ type: 'Condition', url: `${source.baseUrl}/files/1` }],
          deleted: [{ type: 'Bundle', url: `${source.baseUrl}/files/2` }],
        },
      }),
      'GET files/1': ndjson(condition('c2')),
      'GET files/2': ndjson(gone),
    });
    const connector = connect(source);
    const begun = await connector.begin(ada, {}, never);
    if (begun.kind !== 'accepted') throw new Error('no job');
    const poll = await connector.poll(begun.job, never);
    if (poll.kind !== 'ready') throw new Error('pending');
    const pages = await allOf(poll.pages);
    expect(pages.flatMap(({ retracted }) => retracted)).toEqual([
      deleted('c1'),
    ]);
    expect(
      pages.flatMap(({ misattributedCount }) => misattributedCount),
    ).not.toContain(1);
  });
});

const ndjson = (...lines: unknown[]) => ({
  headers: { 'content-type': 'application/fhir+ndjson' },
  text: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
});

describe('what became of a resource that a whole answer no longer holds', () => {
  const missing = [{ resourceType: 'Condition', id: 'c1' }];
  const ask = (
    source: FakeSource,
    present: [string, string][] = [],
    ids = missing,
  ) =>
    connect(source).checkMissing(
      { missing: ids, patientIds: ['p1', 'p2'], present: new Map(present) },
      never,
    );
  const read = (json: unknown) => ({ 'GET Condition/c1': { json } });

  test('410: it was deleted', async ({ source }) => {
    source.serve({ 'GET Condition/c1': { status: 410 } });
    expect(await ask(source)).toEqual(['deleted']);
  });

  test('404: it was deleted, where one that is there is found', async ({
    source,
  }) => {
    source.serve({ 'GET Condition/c2': { json: condition('c2') } });
    expect(await ask(source, [['Condition', 'c2']])).toEqual(['deleted']);
  });

  test('404: nobody knows, where one that is there is not found either', async ({
    source,
  }) => {
    source.serve({});
    expect(await ask(source, [['Condition', 'c2']])).toEqual(['unknown']);
  });

  test.for<[object[], string]>([
    [[{ code: 'read' }], 'deleted'],
    [[{ code: 'search-type' }], 'unknown'],
  ])(
    '404 with none of its type left: as far as the server says that it serves %j, %s',
    async ([interaction, fate], { source }) => {
      const resource = [{ type: 'Condition', interaction }];
      source.serve({
        'GET metadata': {
          json: {
            resourceType: 'CapabilityStatement',
            rest: [{ mode: 'server', resource }],
          },
        },
      });
      expect(await ask(source)).toEqual([fate]);
    },
  );

  test.for<[string, object, string]>([
    ['this person', condition('c1'), 'kept'],
    ['an earlier id of this person', condition('c1', 'Patient/p2'), 'kept'],
    ['nobody', { resourceType: 'Condition', id: 'c1' }, 'kept'],
    [
      'somebody of another server',
      condition('c1', 'https://other.example/Patient/p9'),
      'kept',
    ],
    ['another person', condition('c1', 'Patient/p9'), 'moved'],
    ['another resource', condition('c9', 'Patient/p9'), 'unknown'],
  ])('it names %s', async ([_, json, fate], { source }) => {
    source.serve(read(json));
    expect(await ask(source)).toEqual([fate]);
  });

  test('refused: nobody knows, and the others are asked for', async ({
    source,
  }) => {
    source.serve({
      'GET Condition/c1': { status: 403 },
      'GET Condition/c2': { status: 410 },
    });
    expect(
      await ask(
        source,
        [],
        [...missing, { resourceType: 'Condition', id: 'c2' }],
      ),
    ).toEqual(['unknown', 'deleted']);
  });

  test('a source in trouble is left alone: what was not read by then is unknown', async ({
    source,
  }) => {
    source.serve({
      'GET Condition/c1': { status: 410 },
      'GET Condition/c2': { status: 503 },
    });
    const more = ['c2', 'c3'].map((id) => ({ resourceType: 'Condition', id }));
    expect(await ask(source, [], [...missing, ...more])).toEqual([
      'deleted',
      'unknown',
      'unknown',
    ]);
    expect(source.askedFor('GET Condition/c3')).toEqual([]);
  });

  test('stops when it is cancelled', async ({ source }) => {
    const controller = new AbortController();
    source.serve({ 'GET Condition/c1': { write: () => controller.abort() } });
    const asked = connect(source).checkMissing(
      { missing, patientIds: ['p1'], present: new Map() },
      controller.signal,
    );
    await expect(asked).rejects.toBeInstanceOf(SourceFailure);
  });
});
