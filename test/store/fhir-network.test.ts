import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, describe, expect } from 'vitest';
import { explainChoices } from '../../src/exchange/queries/network-query/fan-out/choice.ts';
import { insertConnection } from '../../src/exchange/sources/connections/connection-store.ts';
import { createSourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import { rememberGateways } from '../../src/exchange/sources/connections/gateway-store.ts';
import { sealCredentials } from '../../src/exchange/sources/connections/settings.ts';
import { createSharedTokens } from '../../src/exchange/sources/connections/shared-tokens.ts';
import { networkSettingsSchema } from '../../src/exchange/sources/connectors/ihe/network-settings.ts';
import type { PurposeOfUse } from '../../src/exchange/sources/connectors/source-config.ts';
import { connectionSettingsSchema } from '../../src/exchange/sources/connectors/source-settings.ts';
import { putDirectory } from '../../src/exchange/sources/directory/directory-store.ts';
import { loadDirectory } from '../../src/exchange/sources/directory/load-directory.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { ada } from '../support/ada.ts';
import {
  type Member,
  PURPOSE,
  startFhirNetwork,
} from '../support/fhir-network.ts';
import { queryTest } from '../support/fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { testKeyRing } from '../support/test-keys.ts';

const MEMBERS: Member[] = [
  'knows',
  'nobody',
  'two candidates',
  'refuses tokens',
  'refuses our statement',
  'is not of the community',
  'hangs',
  'is away',
  'knows',
];
const network = await startFhirNetwork(MEMBERS);
afterAll(() => network.stop());

/** An account that is connected to the network, with what it asks. */
const test = queryTest.extend('member', async ({ environment }) => {
  const { store } = environment;
  const keyRing = testKeyRing();
  const auth = await network.ours();

  async function connect(
    entries: readonly object[],
    settings: Record<string, unknown> = { privateAddresses: true },
  ) {
    const { accountId } = await environment.addAccount({
      limits: { networkQueriesPerMinute: 100_000 },
    });
    const patientId = await environment.addPatient(accountId, {}, ada);
    const directory = `fhir-${uuidv7().slice(-12)}`;
    const load = (items: readonly object[]) =>
      loadEntries(store, directory, items);
    await load(entries);
    const id = uuidv7();
    await store.asSystem((tx) =>
      insertConnection(tx, {
        id,
        accountId,
        source: 'hie',
        name: 'TEFCA',
        baseUrl: `directory:${directory}`,
        settings: connectionSettingsSchema.parse({
          network: networkSettingsSchema.parse({
            speaks: 'fhir',
            directory,
            ownHomeCommunity: '2.999.5',
            discoveryTimeoutSeconds: 20,
            ...settings,
          }),
        }),
        authKind: 'udap',
        credentials: sealCredentials(keyRing, id, {
          auth,
          tls: { ca: network.community.cert },
        }),
        namespace: 'c-00000000~',
        enabled: true,
      }),
    );
    const connections = createSourceConnections(
      { store, keyRing },
      { sharedTokens: createSharedTokens(store, keyRing) },
    );
    const activities = environment.activities(
      {},
      {
        connections,
        sourceHealth: createSourceHealth(store),
      },
    );
    const inTx = <T>(work: Parameters<typeof store.asAccount<T>>[1]) =>
      store.asAccount(accountId, work);
    async function newQuery() {
      const requestId = await environment.addQuery(accountId, patientId, [
        'hie',
      ]);
      const step = {
        accountId,
        requestId,
        run: 0,
        source: 'hie' as const,
        attempt: 1,
      };
      return {
        ask: () => runActivity(activities.askSource, step),
        collect: () => runActivity(activities.collectSource, step),
        /** Ends every wait, as time would. */
        elapse: () =>
          inTx((tx) =>
            sql`update gateway_ask set next_try_at = now() where query_id = ${requestId} and state = 'open'`.execute(
              tx.db,
            ),
          ),
        /** Of each member: its state, and why. */
        states: async () =>
          Object.fromEntries(
            (
              await inTx((tx) =>
                tx.db
                  .selectFrom('gateway_ask')
                  .select(['home_community', 'state', 'reason'])
                  .where('query_id', '=', requestId)
                  .execute(),
              )
            ).map(({ home_community, state, reason }) => [
              home_community,
              reason === null ? state : `${state}: ${reason}`,
            ]),
          ),
        outcome: () => environment.outcome(accountId, requestId),
      };
    }
    const choice = () =>
      inTx((tx) =>
        explainChoices(tx, {
          id: patientId,
          addresses: ada.addresses,
          facilityIds: [],
        }),
      );
    /** The connector to a chosen member. */
    async function connectorFor(purpose: PurposeOfUse) {
      const [chosen] = (await choice()).flatMap((each) => each.chosen);
      if (chosen === undefined) throw new Error('no member is chosen');
      const [gateway] = await inTx((tx) => rememberGateways(tx, id, [chosen]));
      if (gateway === undefined) throw new Error('it is not remembered');
      const connectors = await connections.network(accountId, id, purpose);
      return connectors.connectorOf(gateway);
    }
    return { newQuery, load, choice, connectorFor };
  }
  return { connect };
});

const folder = await mkdtemp(join(tmpdir(), 'fhir-network-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function loadEntries(
  store: Parameters<typeof loadDirectory>[0]['store'],
  directory: string,
  entries: readonly object[],
) {
  const file = join(folder, `${uuidv7()}.ndjson`);
  await writeFile(file, entries.map((each) => JSON.stringify(each)).join('\n'));
  await store.asSystem((tx) => putDirectory(tx, directory, {}));
  return loadDirectory(
    { store },
    { directory, loadId: uuidv7() },
    { address: pathToFileURL(file).href },
    new AbortController().signal,
  );
}

const entries = () => MEMBERS.map((_, index) => network.entry(index));

describe('a query over the FHIR servers of a network', () => {
  test('asks each for the patient, collects from those that know them, and accounts for each once', async ({
    environment,
    member,
  }) => {
    const { newQuery } = await member.connect(entries());
    const query = await newQuery();
    expect(await query.ask()).toEqual({ state: 'ready', asksGateways: true });
    expect(await query.collect()).toMatchObject({ state: 'waiting' });
    for (let again = 0; again < 3; again += 1) {
      await query.elapse();
      await query.collect();
    }
    expect(await query.states()).toEqual({
      '2.999.7.0': 'found',
      '2.999.7.1': 'nobody',
      '2.999.7.2': expect.stringMatching(/^nobody: /),
      '2.999.7.3': expect.stringMatching(/^failed: hie answered 401/),
      '2.999.7.4': expect.stringMatching(
        /^failed: .*invalid_software_statement/,
      ),
      '2.999.7.5': expect.stringMatching(/^failed: .*not trusted by its UDAP/),
      '2.999.7.6': 'failed: it did not answer within 20 s',
      '2.999.7.7': expect.stringMatching(/^failed: hie answered 503/),
      '2.999.7.8': 'found',
    });
    const { attempts, resources } = await query.outcome();
    expect(attempts).toMatchObject([{ status: 'completed' }]);
    const conditions = resources.filter(
      ({ resource_type: type }) => type === 'Condition',
    );
    expect(conditions.map(({ source_id }) => source_id.split('~')[1])).toEqual(
      expect.arrayContaining(['c0', 'c8']),
    );
    const failing = await environment.store.asSystem((tx) =>
      sql<{
        reason: string;
      }>`select c.reason from source_connection c join network_gateway g on g.id::text = c.connection
        where g.home_community = '2.999.7.7' and cardinality(c.failing) > 0`.execute(
        tx.db,
      ),
    );
    expect(failing.rows).toMatchObject([
      { reason: expect.stringContaining('503') },
    ]);
    // All that share an authorization server share one registration.
    expect(network.udap.registrations).toHaveLength(1);
    expect(network.udap.registrations[0]).toMatchObject({
      iss: 'urn:oid:2.999.5#T-TRTMNT',
    });
    expect(network.udap.certifications).toMatchObject([
      { exchange_purposes: [PURPOSE], home_community_id: 'urn:oid:2.999.5' },
    ]);
  });

  test('asks those that knew the patient first the next time, new members once, and those that said nobody after the setting', async ({
    member,
  }) => {
    const first = [network.entry(0), network.entry(1)];
    const { newQuery, load, choice } = await member.connect(first);
    expect((await choice())[0]?.chosen).toMatchObject([
      { homeCommunity: '2.999.7.0', because: 'near', miles: 0 },
      { homeCommunity: '2.999.7.1', because: 'near', miles: 0 },
    ]);
    const query = await newQuery();
    await query.ask();
    expect(await query.collect()).toMatchObject({ state: 'completed' });

    await load([...first, network.entry(8)]);
    const [next] = await choice();
    expect(next?.chosen).toMatchObject([
      { homeCommunity: '2.999.7.0', because: 'known' },
      { homeCommunity: '2.999.7.8', because: 'near' },
    ]);
    expect(next?.leftOut['known not to have the patient']).toBe(1);
    const second = await newQuery();
    await second.ask();
    expect(await second.collect()).toMatchObject({ state: 'completed' });
    expect(await second.states()).toEqual({
      '2.999.7.0': 'found',
      '2.999.7.8': 'found',
    });
    // The known member has brought nothing anew.
    const { resources } = await second.outcome();
    expect(
      resources.filter(({ resource_type: type }) => type === 'Condition'),
    ).toHaveLength(2);
  });

  test('asks a server once that several organizations have, also when another one is listed before', async ({
    member,
  }) => {
    const shared = [
      network.entry(0, '2.999.7.50'),
      network.entry(0, '2.999.7.51'),
    ];
    const { newQuery, load, choice } = await member.connect(shared);
    const query = await newQuery();
    await query.ask();
    await query.collect();
    expect(await query.states()).toEqual({ '2.999.7.50': 'found' });
    await load([network.entry(0, '2.999.7.40'), ...shared]);
    expect((await choice())[0]?.chosen).toMatchObject([
      { homeCommunity: '2.999.7.50', because: 'known' },
    ]);
  });

  test('registers again at a server that has forgotten us', async ({
    member,
  }) => {
    const { newQuery } = await member.connect([network.entry(0)]);
    const query = await newQuery();
    await query.ask();
    await query.collect();
    const before = network.udap.registrations.length;
    network.udap.forgetEverything();
    const second = await newQuery();
    await second.ask();
    expect(await second.collect()).toMatchObject({ state: 'completed' });
    expect(await second.states()).toEqual({ '2.999.7.0': 'found' });
    expect(network.udap.registrations.length).toBe(before + 1);
  });

  test('sends nothing to an address of this machine or of a private network, unless that is allowed', async ({
    member,
  }) => {
    const at = (id: string, address: string) => {
      const entry = network.entry(0, id);
      const [endpoint] = entry.contained;
      return { ...entry, contained: [{ ...endpoint, address }] };
    };
    const { newQuery } = await member.connect(
      [
        network.entry(0),
        at('2.999.8.1', 'https://10.0.0.1/fhir'),
        at('2.999.8.2', 'https://[::1]/fhir'),
        at('2.999.8.3', 'http://fhir.example.org/r4'),
      ],
      {},
    );
    const asked = network.requests.length;
    const query = await newQuery();
    await query.ask();
    await expect(query.collect()).rejects.toThrow('4 of 4 gateways');
    expect(Object.values(await query.states())).toEqual(
      Array.from({ length: 4 }, () =>
        expect.stringMatching(
          /^failed: its address must .*--private-addresses/,
        ),
      ),
    );
    expect(network.requests).toHaveLength(asked);
  });

  test('is not asked for individual access under a purpose that does not allow it', async ({
    member,
  }) => {
    const { connectorFor } = await member.connect([network.entry(0)]);
    const connector = await connectorFor('ias');
    await expect(
      connector.locate?.(ada, new AbortController().signal),
    ).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('registered for T-TRTMNT'),
    });
  });
});
