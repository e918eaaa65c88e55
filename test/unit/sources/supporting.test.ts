import { describe, expect } from 'vitest';
import type { SourcePage } from '../../../src/exchange/sources/connectors/connector.ts';
import {
  allOf,
  bundle,
  connect,
  idsOf,
  never,
  type Reply,
  type Routes,
  sourceTest,
} from '../../support/fake-source.ts';

const report = (id: string, ...performers: string[]) => ({
  resourceType: 'DiagnosticReport',
  id,
  subject: { reference: 'Patient/p1' },
  performer: performers.map((reference) => ({ reference })),
});
const named = (name: string, rest = {}) => {
  const [resourceType, id] = name.split('/');
  return { resourceType, id, ...rest };
};

/** A laboratory that is searched by type. */
const test = sourceTest.extend('lab', ({ source }) => ({
  serve: (reports: unknown[], more: Routes = {}) =>
    source.serve({
      'POST DiagnosticReport/_search': { json: bundle(reports) },
      ...more,
    }),
  collect: () => source.collect({ source: 'lab' }),
  asked: (type: string) =>
    source
      .askedFor(`POST ${type}/_search`)
      .map(({ body }) => new URLSearchParams(body).get('_id'))
      .filter((ids) => ids !== null),
}));
const unreachable = (pages: SourcePage[]) =>
  pages.flatMap((page) => page.unreachable ?? []);

describe('what results refer to comes along where a source is searched by type', () => {
  test('by one search for each type, each resource once, also when several pages refer to it', async ({
    source,
    lab,
  }) => {
    const first = bundle(
      [report('r1', 'Organization/o1', 'Practitioner/d1')],
      'DiagnosticReport?page=2',
    );
    lab.serve([], {
      'POST DiagnosticReport/_search': { json: first },
      'GET DiagnosticReport?page=2': {
        json: bundle([report('r2', 'Organization/o1', 'Organization/o2')]),
      },
      'POST Organization/_search': {
        json: bundle([named('Organization/o1'), named('Organization/o2')]),
      },
      'POST Practitioner/_search': { json: bundle([named('Practitioner/d1')]) },
    });
    const pages = await lab.collect();
    expect(idsOf(pages)).toEqual(
      expect.arrayContaining([
        'Organization/o1',
        'Organization/o2',
        'Practitioner/d1',
      ]),
    );
    expect(lab.asked('Organization')).toEqual(['o1,o2']);
    expect(lab.asked('Practitioner')).toEqual(['d1']);
    expect(source.askedFor('GET Organization/')).toEqual([]);
    expect(unreachable(pages)).toEqual([]);
  });

  test('and what these refer to, without end in a circle', async ({ lab }) => {
    lab.serve([report('r1', 'PractitionerRole/x')], {
      'POST PractitionerRole/_search': {
        json: bundle([
          named('PractitionerRole/x', {
            organization: { reference: 'Organization/o1' },
          }),
        ]),
      },
      'POST Organization/_search': {
        json: bundle([
          named('Organization/o1', {
            partOf: { reference: 'Organization/o1' },
          }),
        ]),
      },
    });
    expect(idsOf(await lab.collect())).toEqual([
      'DiagnosticReport/r1',
      'PractitionerRole/x',
      'Organization/o1',
    ]);
    expect(lab.asked('Organization')).toEqual(['o1']);
  });

  test('read one by one where the search does not bring them', async ({
    lab,
  }) => {
    lab.serve([report('r1', 'Organization/o1', 'Organization/o2')], {
      'POST Organization/_search': { json: bundle([]) },
      'GET Organization/o1': { json: named('Organization/o1') },
      'GET Organization/o2': { json: named('Organization/o2') },
    });
    const pages = await lab.collect();
    expect(idsOf(pages)).toEqual([
      'DiagnosticReport/r1',
      'Organization/o1',
      'Organization/o2',
    ]);
    expect(JSON.parse(pages.at(-1)?.raw.bytes.toString() ?? '')).toMatchObject({
      type: 'collection',
    });
  });

  test('only what was asked for, when the server ignores the ids and answers with all that it has', async ({
    lab,
  }) => {
    lab.serve([report('r1', 'Organization/o1')], {
      'POST Organization/_search': {
        json: bundle([named('Organization/o1'), named('Organization/o9')]),
      },
    });
    const pages = await lab.collect();
    expect(idsOf(pages)).toEqual(['DiagnosticReport/r1', 'Organization/o1']);
    expect(pages.at(-1)?.raw.bytes.toString()).not.toContain('o9');
  });

  test('read one by one where the search is refused', async ({ lab }) => {
    lab.serve([report('r1', 'Organization/o1')], {
      'POST Organization/_search': { status: 403 },
      'GET Organization/o1': { json: named('Organization/o1') },
    });
    expect(idsOf(await lab.collect())).toEqual([
      'DiagnosticReport/r1',
      'Organization/o1',
    ]);
  });

  test('not where the server has $everything: that is what it brings by itself', async ({
    source,
    lab,
  }) => {
    lab.serve([], {
      'GET Patient/p1/$everything': {
        json: bundle([report('r1', 'Organization/o1')]),
      },
    });
    expect(idsOf(await lab.collect())).toEqual(['DiagnosticReport/r1']);
    expect(
      source.asked.filter(({ path }) => path.startsWith('Organization')),
    ).toEqual([]);
  });

  test('never from another server, nor what a stray refers to', async ({
    source,
    lab,
  }) => {
    const stray = {
      ...report('r2', 'Organization/o9'),
      subject: { reference: 'Patient/p9' },
    };
    lab.serve([
      report('r1', 'https://other.example/fhir/Organization/o1'),
      stray,
    ]);
    await lab.collect();
    expect(
      source.asked.filter(({ path }) => path.startsWith('Organization')),
    ).toEqual([]);
  });
});

describe('what cannot be had is said, and nothing fails', () => {
  test.for<[string, Reply, string]>([
    ['gone', { status: 404 }, 'lab answered 404 to an Organization'],
    ['refused', { status: 403 }, 'lab answered 403 to an Organization'],
    ['in trouble', { status: 503 }, 'lab answered 503 to an Organization'],
  ])('%s', async ([_, reply, reason], { lab }) => {
    lab.serve([report('r1', 'Organization/o1')], {
      'GET Organization/o1': reply,
    });
    const pages = await lab.collect();
    expect(idsOf(pages)).toEqual(['DiagnosticReport/r1']);
    expect(unreachable(pages)).toEqual([{ count: 1, reason }]);
    expect(pages.at(-1)?.next).toBeNull();
  });

  test('a search in trouble is tried once more and then left', async ({
    source,
    lab,
  }) => {
    lab.serve([report('r1', 'Organization/o1')], {
      'POST Organization/_search': { status: 503 },
    });
    expect(unreachable(await lab.collect())).toEqual([
      { count: 1, reason: 'lab answered 503 to Organization/_search' },
    ]);
    expect(lab.asked('Organization')).toHaveLength(2);
    expect(source.askedFor('GET Organization/')).toEqual([]);
  });

  test.for<[string, string]>([
    ['search', 'POST Organization/_search'],
    ['read', 'GET Organization/o1'],
  ])(
    'but a %s waits for a source that is away',
    async ([_, route], { lab }) => {
      let isAway = false;
      lab.serve([report('r1', 'Organization/o1')], {
        [route]: () => {
          isAway = true;
          return { status: 503 };
        },
        'GET metadata': () =>
          isAway
            ? { status: 503 }
            : { json: { resourceType: 'CapabilityStatement' } },
      });
      await expect(lab.collect()).rejects.toThrow(
        'lab answered 503 to metadata',
      );
    },
  );

  test('and what is too much for one answer', async ({ lab }) => {
    const many = Array.from(
      { length: 620 },
      (_, index) => `Organization/o${index}`,
    );
    lab.serve([report('r1', ...many)], {
      'POST Organization/_search': () => {
        const ids = lab.asked('Organization').at(-1)?.split(',') ?? [];
        return { json: bundle(ids.map((id) => named(`Organization/${id}`))) };
      },
    });
    const pages = await lab.collect();
    expect(
      idsOf(pages).filter((name) => name.startsWith('Organization')),
    ).toHaveLength(500);
    expect(unreachable(pages)).toEqual([
      { count: 120, reason: 'at most 500 are fetched for one query' },
    ]);
  });

  test('a crash goes on after the recorded page', async ({ source, lab }) => {
    lab.serve([report('r1', 'Organization/o1', 'Practitioner/d1')], {
      'POST Organization/_search': { json: bundle([named('Organization/o1')]) },
      'POST Practitioner/_search': { json: bundle([named('Practitioner/d1')]) },
    });
    const pages = await lab.collect();
    const cursor = JSON.parse(JSON.stringify(pages.at(-2)?.next)) as Record<
      string,
      unknown
    >;
    const rest = await allOf(
      connect(source, { source: 'lab' }).resume(cursor, never),
    );
    expect(idsOf(rest)).toEqual(idsOf(pages.slice(-1)));
  });
});
