import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import {
  countDirectory,
  listLoads,
  putDirectory,
  searchDirectory,
  sumRemarks,
} from '../../src/exchange/sources/directory/directory-store.ts';
import { readGatewayCandidates } from '../../src/exchange/sources/directory/gateway-candidates.ts';
import { loadDirectory } from '../../src/exchange/sources/directory/load-directory.ts';
import {
  type MadeOrganization,
  madeBundle,
  madeEndpoint,
  madeOrganization,
  oidOf,
} from '../support/directory-entries.ts';
import { storeTest as test } from '../support/fixtures.ts';
import { propertyOf } from '../support/property.ts';

let directories = 0;

/** A directory of its own, which can be loaded again. */
async function newDirectory(store: Store) {
  directories += 1;
  const directory = `network-${directories}`;
  await store.asSystem((tx) => putDirectory(tx, directory, {}));
  const file = join(await mkdtemp(join(tmpdir(), 'directory-')), 'file');
  return {
    directory,
    async load(content: string) {
      await writeFile(file, content);
      const loadId = uuidv7();
      const origin = { address: pathToFileURL(file).href };
      const signal = new AbortController().signal;
      const loaded = await loadDirectory(
        { store },
        { directory, loadId },
        origin,
        signal,
      );
      return { ...loaded, loadId };
    },
    find: (filter: Parameters<typeof searchDirectory>[1] = {}) =>
      store.asSystem((tx) =>
        searchDirectory(
          tx,
          { directory, ...filter },
          { count: 500, offset: 0 },
        ),
      ),
  };
}

const bundleOf = (...made: MadeOrganization[]) =>
  JSON.stringify(madeBundle(made.map(madeOrganization)));

const item = fc.oneof(
  { weight: 6, arbitrary: fc.nat(12).map((number) => ({ number })) },
  { weight: 1, arbitrary: fc.constant('junk' as const) },
  { weight: 1, arbitrary: fc.constant('endpoint' as const) },
  { weight: 1, arbitrary: fc.constant('patient' as const) },
);
const everyItem = propertyOf([fc.array(item, { maxLength: 30 })], {
  numRuns: 20,
});

test(
  everyItem.named('every item that is read is accounted for once'),
  async ({ store }) => {
    await everyItem.holds(async (items) => {
      const { load, find } = await newDirectory(store);
      const first = JSON.stringify(madeOrganization({ number: 99 }));
      const lines = items.map((each) => {
        if (each === 'junk') return '{"resourceType":';
        if (each === 'patient') return '{"resourceType":"Patient"}';
        return JSON.stringify(
          each === 'endpoint'
            ? madeEndpoint('XCPD ITI-55', 'https://a.example', 1)
            : madeOrganization(each),
        );
      });
      // Without the end of its last line, the file would have broken off.
      const { counts } = await load(`${[first, ...lines].join('\n')}\n`);
      const { read, removed, remarked, ...rest } = counts;
      expect(Object.values(rest).reduce((a, b) => a + b)).toBe(read);
      expect(read).toBe(items.length + 1);
      expect(await find()).toHaveLength(counts.added);
    });
  },
);

test('an entry without addresses is reached through its parents, also when they form a circle', async ({
  store,
}) => {
  const { load, find } = await newDirectory(store);
  await load(
    bundleOf(
      { number: 1, gateway: 'https://gateway.example' },
      { number: 2, parent: 1, active: false },
      { number: 3, parent: 2 },
      { number: 4, parent: 5 },
      { number: 5, parent: 4 },
      { number: 6, parent: 77 },
    ),
  );
  const gateways = Object.fromEntries(
    (await find()).map(({ id, gatewayId }) => [id, gatewayId]),
  );
  expect(gateways).toEqual({
    [oidOf(1)]: oidOf(1),
    [oidOf(2)]: oidOf(1),
    [oidOf(3)]: oidOf(1),
    [oidOf(4)]: null,
    [oidOf(5)]: null,
    [oidOf(6)]: null,
  });
});

test('of entries that repeat an id, the one that was changed last counts', async ({
  store,
}) => {
  const { load, find } = await newDirectory(store);
  const { counts, loadId } = await load(
    bundleOf(
      { number: 1, name: 'Older', lastUpdated: '2026-01-01T00:00:00Z' },
      { number: 1, name: 'Newest', lastUpdated: '2026-03-01T00:00:00Z' },
      { number: 1, name: 'Old', lastUpdated: '2026-02-01T00:00:00Z' },
    ),
  );
  expect(counts).toMatchObject({ read: 3, added: 1, repeated: 2 });
  expect((await find()).map(({ name }) => name)).toEqual(['Newest']);
  const remarks = await store.asSystem((tx) => sumRemarks(tx, loadId));
  expect(remarks.map(({ items }) => items)).toEqual([1, 1]);
});

test('endpoints and locations that are resources of their own are joined to their organizations', async ({
  store,
}) => {
  const { load, find } = await newDirectory(store);
  const endpoint = (code: string, number: number) => ({
    ...madeEndpoint(code, `https://gateway.example/${number}`, number),
    managingOrganization: { reference: `Organization/${oidOf(1)}` },
  });
  const organizations = [
    madeOrganization({ number: 1, zip: '' }),
    {
      ...madeOrganization({ number: 2 }),
      endpoint: [
        { reference: 'https://directory.example/Endpoint/endpoint-8' },
      ],
    },
  ];
  await load(
    [
      ...organizations,
      endpoint('XCPD ITI-55', 5),
      madeEndpoint('XCPD ITI-55', 'https://gateway.example/8', 8),
      {
        resourceType: 'Location',
        id: 'l',
        position: { latitude: 40, longitude: -90 },
        managingOrganization: { reference: `Organization/${oidOf(1)}` },
      },
    ]
      .map((each) => JSON.stringify(each))
      .join('\n'),
  );
  expect(await find()).toMatchObject([
    { discoveryUrl: 'https://gateway.example/5', latitude: 40 },
    { discoveryUrl: 'https://gateway.example/8', positionFrom: 'zip' },
  ]);
});

test('a load again changes only what changed, and removes what is no longer there', async ({
  store,
}) => {
  const { directory, load, find } = await newDirectory(store);
  await load(bundleOf({ number: 1 }, { number: 2 }, { number: 3 }));
  const { counts } = await load(
    bundleOf({ number: 1 }, { number: 2, name: 'Renamed' }),
  );
  expect(counts).toMatchObject({
    added: 0,
    changed: 1,
    unchanged: 1,
    removed: 1,
  });
  expect((await find()).map(({ id }) => id)).toEqual([oidOf(1), oidOf(2)]);
  expect(
    await store.asSystem((tx) => countDirectory(tx, directory)),
  ).toMatchObject({ entries: 2 });
});

test('a load that breaks off, or has only a part, removes nothing', async ({
  store,
}) => {
  const { directory, load, find } = await newDirectory(store);
  const whole = bundleOf({ number: 1 }, { number: 2 }, { number: 3 });
  await load(whole);
  await expect(load(whole.slice(0, -400))).rejects.toThrow(
    'it ends in the middle',
  );
  const { kept } = await load(bundleOf({ number: 1 }));
  expect(kept).toContain('it has 1 of 3 entries');
  expect(await find()).toHaveLength(3);
  const loads = await store.asSystem((tx) => listLoads(tx, directory, 3));
  expect(loads.map(({ status }) => status)).toEqual([
    'completed',
    'failed',
    'completed',
  ]);
});

test('gateways are seen from the nearest place that they answer for, and members of a locator as such', async ({
  store,
}) => {
  const { directory, load } = await newDirectory(store);
  await load(
    bundleOf(
      { number: 1, gateway: 'https://one.example', zip: '10001', state: 'NY' },
      { number: 2, parent: 1, zip: '97201' },
      { number: 3, parent: 1, zip: '97202', active: false },
      { number: 4, gateway: 'https://four.example', zip: '', state: 'OR' },
      { number: 5, gateway: 'https://five.example', zip: '98101', state: 'WA' },
      { number: 6, gateway: 'https://six.example', parent: 5 },
    ),
  );
  const account = uuidv7();
  const candidates = await store.asAccount(account, (tx) =>
    readGatewayCandidates(tx, { directory, recordLocators: [oidOf(5)] }, [
      { zip: '97201-1234', state: 'OR' },
    ]),
  );
  const seen = Object.fromEntries(
    candidates.map(({ id, miles, ...rest }) => [
      id,
      [miles === null ? null : Math.round(miles), rest.isBelowLocator],
    ]),
  );
  expect(seen).toEqual({
    [oidOf(1)]: [0, false],
    [oidOf(4)]: [null, false],
    [oidOf(5)]: [146, true],
    [oidOf(6)]: [0, true],
  });
  expect(candidates.find(({ id }) => id === oidOf(4))?.isUnplacedInState).toBe(
    true,
  );
});

test('an account reads entries and cannot write them', async ({ store }) => {
  const { load } = await newDirectory(store);
  await load(bundleOf({ number: 1 }));
  const account = uuidv7();
  const read = await store.asAccount(account, (tx) =>
    searchDirectory(tx, { oid: oidOf(1) }, { count: 1, offset: 0 }),
  );
  expect(read).toHaveLength(1);
  const write = store.asAccount(account, (tx) =>
    tx.db.deleteFrom('directory_entry').execute(),
  );
  await expect(write).rejects.toMatchObject({ code: '42501' });
});
