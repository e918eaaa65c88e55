import { describe, expect } from 'vitest';
import type { SourcePage } from '../../../src/exchange/sources/connectors/connector.ts';
import type { SourceConfig } from '../../../src/exchange/sources/connectors/source-config.ts';
import {
  type Asked,
  allOf,
  bundle,
  condition,
  connect,
  type FakeSource,
  idsOf,
  never,
  type Reply,
  sourceTest as test,
} from '../../support/fake-source.ts';

const BYTES_MAX = 20_000;
const large = (id: string) => ({
  ...condition(id),
  note: [{ text: 'x'.repeat(BYTES_MAX) }],
});
const medium = (id: string) => ({
  ...condition(id),
  note: [{ text: 'x'.repeat(BYTES_MAX / 5) }],
});

/**
 * Serves the resources in pages of `_count`, as HAPI does: further pages by
 * offset, with `_count` in the link.
 */
function paged(
  resources: Array<{ id: string }>,
  linkOf = (offset: number, count: number) => `?at=${offset}&_count=${count}`,
) {
  return ({ path, headers }: Asked): Reply => {
    const query = new URLSearchParams(path.split('?')[1]);
    const entry = (resource: { id: string }) => ({
      fullUrl: `http://${headers.host}/fhir/Condition/${resource.id}`,
      resource,
    });
    const at = Number(query.get('at') ?? 0);
    const count = Number(query.get('_count') ?? 200);
    const next =
      at + count < resources.length ? linkOf(at + count, count) : undefined;
    return {
      json: {
        ...bundle(resources.slice(at, at + count), next),
        entry: resources.slice(at, at + count).map(entry),
      },
    };
  };
}

const LIMITS = { pageBytesMax: BYTES_MAX, pageSize: 16 };
const collect = (source: FakeSource, config: Partial<SourceConfig> = {}) =>
  source.collect({ ...LIMITS, ...config });
const counts = (source: FakeSource) =>
  source
    .askedFor('GET Patient/p1/$everything')
    .map(({ path }) => new URLSearchParams(path.split('?')[1]).get('_count'));
const leftOut = (pages: SourcePage[]) =>
  pages.flatMap((page) => page.leftOut ?? []);

describe('a page over the limit', () => {
  test('is asked for in smaller pages, which grow again once they fit', async ({
    source,
  }) => {
    const all = [
      ...Array.from({ length: 8 }, (_, n) => medium(`m${n}`)),
      ...Array.from({ length: 40 }, (_, n) => condition(`c${n}`)),
    ];
    source.serveEverything(paged(all));
    const pages = await collect(source);
    expect(new Set(idsOf(pages)).size).toBe(48);
    expect(leftOut(pages)).toEqual([]);
    expect(counts(source)).toEqual(['16', '4', '8', '16', '16', '16']);
  });

  test('loses only the one resource that is larger, which is named', async ({
    source,
  }) => {
    const all = [
      condition('c0'),
      condition('c1'),
      large('big'),
      condition('c2'),
      condition('c3'),
      condition('c4'),
    ];
    source.serveEverything(paged(all));
    const pages = await collect(source);
    expect(idsOf(pages)).toEqual(
      ['c0', 'c1', 'c2', 'c3', 'c4'].map((id) => `Condition/${id}`),
    );
    expect(leftOut(pages)).toEqual(['Condition/big']);
    expect(pages.at(-1)?.next).toBeNull();
  });

  test.for<[string, { id: string }[]]>([
    ['the first', [large('big'), condition('c1')]],
    ['the last', [condition('c1'), large('big')]],
  ])(
    'loses %s resource without losing the other',
    async ([_, all], { source }) => {
      source.serveEverything(paged(all));
      const pages = await collect(source);
      expect(idsOf(pages)).toEqual(['Condition/c1']);
      expect(leftOut(pages)).toEqual(['Condition/big']);
    },
  );

  test('can be resumed in the middle of the smaller pages', async ({
    source,
  }) => {
    source.serveEverything(
      paged([condition('c0'), large('big'), condition('c1'), condition('c2')]),
    );
    const pages = await collect(source);
    const cursor = JSON.parse(JSON.stringify(pages[0]?.next)) as Record<
      string,
      unknown
    >;
    const rest = await allOf(connect(source, LIMITS).resume(cursor, never));
    expect([...idsOf(pages.slice(0, 1)), ...idsOf(rest)]).toEqual([
      'Condition/c0',
      'Condition/c1',
      'Condition/c2',
    ]);
    expect(leftOut(rest)).toEqual(['Condition/big']);
  });

  test('behind a link without _count makes the request start again with smaller pages', async ({
    source,
  }) => {
    const all = [
      ...Array.from({ length: 4 }, (_, n) => condition(`c${n}`)),
      ...Array.from({ length: 4 }, (_, n) => medium(`m${n}`)),
    ];
    let state = 4;
    const opaque = (asked: Asked): Reply => {
      const query = new URLSearchParams(asked.path.split('?')[1]);
      state = Number(query.get('_count') ?? state);
      return paged(
        all,
        (offset) => `?at=${offset}`,
      )({ ...asked, path: `?at=${query.get('at') ?? 0}&_count=${state}` });
    };
    source.serveEverything(opaque);
    const pages = await collect(source, { pageSize: 4, pageBytesMax: 10_000 });
    expect([...new Set(idsOf(pages))]).toHaveLength(8);
    expect(leftOut(pages)).toEqual([]);
  });

  test('of a search by type is treated alike', async ({ source }) => {
    source.serveEverything(
      { status: 404 },
      {
        'GET Condition': paged([
          condition('c0'),
          large('big'),
          condition('c1'),
        ]),
      },
    );
    const pages = await collect(source);
    expect(idsOf(pages)).toEqual(['Condition/c0', 'Condition/c1']);
    expect(leftOut(pages)).toEqual(['Condition/big']);
  });

  test('of a server that ignores _count is a bad answer that says what to set', async ({
    source,
  }) => {
    const all = Array.from({ length: 8 }, (_, n) => medium(`m${n}`));
    source.serveEverything({ json: bundle(all) });
    await expect(collect(source)).rejects.toMatchObject({
      kind: 'bad-answer',
      message: expect.stringMatching(
        /more than 20000 bytes, also when asked for one resource; pageBytesMax of HIE_SETTINGS is the limit/,
      ),
    });
    expect(counts(source)).toEqual(['16', '4', '1']);
    await expect(
      collect(source, { connectionKey: 'connection-1' }),
    ).rejects.toMatchObject({
      message: expect.stringMatching(
        /; --page-bytes-max is the limit \(npm run admin -- connections set connection-1\)$/,
      ),
    });
  });
});
