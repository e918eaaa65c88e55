import { describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../../src/exchange/sources/connectors/source-config.ts';
import {
  type Asked,
  adaAtSource,
  allOf,
  bundle,
  collectAtOnce,
  condition,
  connect,
  FakeSource,
  idsOf,
  never,
  type Reply,
} from '../../support/fake-source.ts';

let source: FakeSource;

const BYTES_MAX = 20_000;
const large = (id: string) => ({ ...condition(id), note: [{ text: 'x'.repeat(BYTES_MAX) }] });
const medium = (id: string) => ({ ...condition(id), note: [{ text: 'x'.repeat(BYTES_MAX / 5) }] });

/** Serves the resources in pages of `_count`, as HAPI does: further pages by offset, with `_count` in the link. */
function paged(
  resources: Array<{ id: string }>,
  linkOf = (offset: number, count: number) => `?at=${offset}&_count=${count}`,
) {
  return ({ path }: Asked): Reply => {
    const query = new URLSearchParams(path.split('?')[1]);
    const at = Number(query.get('at') ?? 0);
    const count = Number(query.get('_count') ?? 200);
    const next = at + count < resources.length ? linkOf(at + count, count) : undefined;
    return {
      json: {
        ...bundle(resources.slice(at, at + count), next),
        entry: resources.slice(at, at + count).map(entry),
      },
    };
  };
}
const entry = (resource: { id: string }) => ({
  fullUrl: `${source.baseUrl}/Condition/${resource.id}`,
  resource,
});

async function start(
  everything: FakeSource['routes'][string],
  routes: FakeSource['routes'] = {},
): Promise<void> {
  source = await new FakeSource({
    'POST Patient/$match': { json: bundle([adaAtSource]) },
    'GET Patient/p1/$everything': everything,
    ...routes,
  }).start();
}

const collect = (config: Partial<SourceConfig> = {}) =>
  collectAtOnce(connect(source, { pageBytesMax: BYTES_MAX, pageSize: 16, ...config }));
const counts = () =>
  source
    .askedFor('GET Patient/p1/$everything')
    .map(({ path }) => new URLSearchParams(path.split('?')[1]).get('_count'));
const leftOut = (pages: Awaited<ReturnType<typeof collect>>) => pages.flatMap((page) => page.leftOut ?? []);

describe('a page over the limit', () => {
  test('is asked for in smaller pages, which grow again once they fit', async () => {
    const all = [
      ...Array.from({ length: 8 }, (_, n) => medium(`m${n}`)),
      ...Array.from({ length: 40 }, (_, n) => condition(`c${n}`)),
    ];
    await start(paged(all));
    const pages = await collect();
    expect(new Set(idsOf(pages)).size).toBe(48);
    expect(leftOut(pages)).toEqual([]);
    expect(counts()).toEqual(['16', '4', '8', '16', '16', '16']);
  });

  test('loses only the one resource that is larger, which is named', async () => {
    const all = [
      condition('c0'),
      condition('c1'),
      large('big'),
      condition('c2'),
      condition('c3'),
      condition('c4'),
    ];
    await start(paged(all));
    const pages = await collect();
    expect(idsOf(pages)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4'].map((id) => `Condition/${id}`));
    expect(leftOut(pages)).toEqual(['Condition/big']);
    expect(pages.at(-1)?.next).toBeNull();
  });

  test.each([
    ['the first', [large('big'), condition('c1')]],
    ['the last', [condition('c1'), large('big')]],
  ])('loses %s resource without losing the other', async (_, all) => {
    await start(paged(all));
    const pages = await collect();
    expect(idsOf(pages)).toEqual(['Condition/c1']);
    expect(leftOut(pages)).toEqual(['Condition/big']);
  });

  test('can be resumed in the middle of the smaller pages', async () => {
    await start(paged([condition('c0'), large('big'), condition('c1'), condition('c2')]));
    const pages = await collect();
    const cursor = JSON.parse(JSON.stringify(pages[0]?.next)) as Record<string, unknown>;
    const rest = await allOf(
      connect(source, { pageBytesMax: BYTES_MAX, pageSize: 16 }).resume(cursor, never),
    );
    expect([...idsOf(pages.slice(0, 1)), ...idsOf(rest)]).toEqual([
      'Condition/c0',
      'Condition/c1',
      'Condition/c2',
    ]);
    expect(leftOut(rest)).toEqual(['Condition/big']);
  });

  test('behind a link without _count makes the request start again with smaller pages', async () => {
    const all = [
      ...Array.from({ length: 4 }, (_, n) => condition(`c${n}`)),
      ...Array.from({ length: 4 }, (_, n) => medium(`m${n}`)),
    ];
    let state = 4;
    const opaque = ({ path }: Asked): Reply => {
      const query = new URLSearchParams(path.split('?')[1]);
      state = Number(query.get('_count') ?? state);
      return paged(
        all,
        (offset) => `?at=${offset}`,
      )({ path: `?at=${query.get('at') ?? 0}&_count=${state}` } as Asked);
    };
    await start(opaque);
    const pages = await collect({ pageSize: 4, pageBytesMax: 10_000 });
    expect([...new Set(idsOf(pages))]).toHaveLength(8);
    expect(leftOut(pages)).toEqual([]);
  });

  test('of a search by type is treated alike', async () => {
    await start(
      { status: 404 },
      { 'GET Condition': paged([condition('c0'), large('big'), condition('c1')]) },
    );
    const pages = await collect();
    expect(idsOf(pages)).toEqual(['Condition/c0', 'Condition/c1']);
    expect(leftOut(pages)).toEqual(['Condition/big']);
  });

  test('of a server that ignores _count is a bad answer that says what to set', async () => {
    const all = Array.from({ length: 8 }, (_, n) => medium(`m${n}`));
    await start({ json: bundle(all) });
    await expect(collect()).rejects.toMatchObject({
      kind: 'bad-answer',
      message: expect.stringMatching(
        /more than 20000 bytes, also when asked for one resource; pageBytesMax of HIE_SETTINGS is the limit/,
      ),
    });
    expect(counts()).toEqual(['16', '4', '1']);
    await expect(collect({ connectionKey: 'connection-1' })).rejects.toMatchObject({
      message: expect.stringMatching(
        /; --page-bytes-max is the limit \(npm run admin -- connections set connection-1\)$/,
      ),
    });
  });
});
