import { sql } from 'kysely';
import { afterAll, describe, expect } from 'vitest';
import { ada } from '../support/ada.ts';
import {
  type Member,
  PURPOSE,
  startFhirNetwork,
} from '../support/fhir-network.ts';
import { connectToFhirNetwork } from '../support/fhir-network-member.ts';
import { queryTest } from '../support/fixtures.ts';

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
  const credentials = {
    auth: await network.ours(),
    tls: { ca: network.community.cert },
  };
  return {
    connect: (entries: readonly object[], settings?: Record<string, unknown>) =>
      connectToFhirNetwork(environment, credentials, entries, settings),
  };
});

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
