import { expect } from 'vitest';
import {
  bundle,
  condition,
  type FakeSource,
  idsOf,
  sourceTest as test,
} from '../../support/fake-source.ts';

const pageOf = (total: number, ids: readonly string[], next?: string) => ({
  json: {
    ...bundle(
      ids.map((id) => condition(id)),
      next,
    ),
    total,
  },
});
const SECOND = '?page=2';

const gapsOf = async (source: FakeSource) => {
  const pages = await source.collect();
  return pages.flatMap(({ reported }) => reported?.gaps ?? []);
};

test('results that the source counts and did not send are a gap, also when pages repeat others', async ({
  source,
}) => {
  source.serveEverything(pageOf(4, ['c1', 'c2'], SECOND), {
    [`GET Patient/p1/$everything${SECOND}`]: pageOf(4, ['c2', 'c1']),
  });
  const pages = await source.collect();
  expect(new Set(idsOf(pages))).toEqual(
    new Set(['Condition/c1', 'Condition/c2']),
  );
  expect(pages.at(-1)?.reported?.gaps).toEqual([
    'the source counts 4 results of $everything and sent 2',
  ]);
});

test('the gap is said, too, when the source sent nothing', async ({
  source,
}) => {
  source.serveEverything(pageOf(3, []));
  expect(await gapsOf(source)).toEqual([
    'the source counts 3 results of $everything and sent 0',
  ]);
});

test('all results, and more than the source counts, are no gap', async ({
  source,
}) => {
  source.serveEverything(pageOf(3, ['c1', 'c2'], SECOND), {
    [`GET Patient/p1/$everything${SECOND}`]: pageOf(3, ['c3']),
  });
  expect(await gapsOf(source)).toEqual([]);

  source.serveEverything(pageOf(1, ['c1', 'c2']));
  expect(await gapsOf(source)).toEqual([]);
});

test('results of a search are counted, each search for itself', async ({
  source,
}) => {
  source.serve({
    'GET Patient/p1/$everything': { status: 404 },
    'POST Condition/_search': pageOf(2, ['c1']),
    'POST AllergyIntolerance/_search': pageOf(0, []),
  });
  expect(await gapsOf(source)).toContain(
    'the source counts 2 results of Condition and sent 1',
  );
});
