import { setTimeout as sleep } from 'node:timers/promises';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';
import type {
  SourceConnector,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { createConnectors } from '../../src/exchange/sources/connectors/create-connector.ts';
import type { SamplePatient } from '../../src/local-stack/sample-patients.ts';
import type { FaultRuleInput } from '../../src/local-stack/simulator/faults.ts';
import {
  SOURCE_NAMES,
  type SourceName,
} from '../../src/local-stack/simulator/protocol.ts';
import type { SettingsChange } from '../../tools/simulator/settings.ts';
import {
  SIMULATOR_CREDENTIALS,
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

// The real connectors against the simulated sources: what one speaks, the other
// understands.

const quick: SettingsChange = {
  hie: { jobLatencyMs: { min: 0, max: 50 }, retryAfterSeconds: 0 },
};
const { signal } = new AbortController();

let simulator: TestSimulator;
let connectors: Record<SourceName, SourceConnector>;
beforeAll(async () => {
  simulator = await startTestSimulator({ settings: quick });
});
afterAll(() => simulator.close());
beforeEach(async () => {
  await simulator.admin.clearRules();
  await simulator.admin.resetSettings();
  const { hie, pharmacyToken, labToken } = SIMULATOR_CREDENTIALS;
  const { url } = simulator;
  connectors = createConnectors({
    hie: {
      source: 'hie',
      baseUrl: `${url}/hie/fhir`,
      auth: {
        kind: 'client-credentials',
        tokenUrl: `${url}/hie/oauth/token`,
        ...hie,
      },
    },
    pharmacy: {
      source: 'pharmacy',
      baseUrl: `${url}/pharmacy/fhir`,
      auth: { kind: 'bearer', token: pharmacyToken },
    },
    lab: {
      source: 'lab',
      baseUrl: `${url}/lab/fhir`,
      auth: { kind: 'bearer', token: labToken },
    },
  });
});

function demographics({ createBody }: SamplePatient): Demographics {
  return {
    firstNames: createBody.firstName.split(' '),
    lastNames: [createBody.lastName],
    dob: createBody.dob,
    gender: createBody.genderAtBirth,
    addresses: createBody.address,
    contacts: createBody.contact,
    personalIdentifiers: createBody.personalIdentifiers,
  };
}

/**
 * Everything a source answers about a sample; undefined where it does not know
 * the person.
 */
async function collect(
  source: SourceName,
  person = sample(),
): Promise<SourcePage[] | undefined> {
  const connector = connectors[source];
  const begun = await connector.begin(demographics(person), {}, signal);
  if (begun.kind === 'unknown-patient') return undefined;
  if (begun.kind === 'ready') return all(begun.pages);
  for (;;) {
    const poll = await connector.poll(begun.job, signal);
    if (poll.kind === 'ready') return all(poll.pages);
    await sleep(20);
  }
}

async function all(pages: AsyncIterable<SourcePage>): Promise<SourcePage[]> {
  const collected: SourcePage[] = [];
  for await (const page of pages) collected.push(page);
  return collected;
}

const identities = (pages: SourcePage[] = []) =>
  pages
    .flatMap(({ resources }) =>
      resources.map(({ resourceType, id }) => `${resourceType}/${id}`),
    )
    .sort();

describe('a connector at a simulated source', () => {
  test.each(SOURCE_NAMES)(
    '%s: collects the record with nothing put aside',
    async (source) => {
      const pages = await collect(source, sample('adan-fuentes'));
      expect(identities(pages).length).toBeGreaterThan(20);
      expect(
        pages?.reduce(
          (sum, { misattributedCount }) => sum + misattributedCount,
          0,
        ),
      ).toBe(0);
    },
  );

  test('hie: brings the C-CDA document along', async () => {
    const attachments =
      (await collect('hie'))?.flatMap((page) => page.attachments) ?? [];
    const ccda = attachments.filter(({ bytes }) =>
      bytes.includes('<ClinicalDocument'),
    );
    expect(ccda).toHaveLength(1);
  });

  test.each<[string, SettingsChange]>([
    [
      'a job that ends with a batch-response',
      { hie: { asyncResult: 'batch-response' } },
    ],
    ['a job that ends with files', { hie: { asyncResult: 'manifest' } }],
    [
      'files that need no token',
      { hie: { asyncResult: 'manifest', manifestRequiresAccessToken: false } },
    ],
    ['no jobs', { hie: { async: false } }],
    ['no $everything', { hie: { everything: false } }],
    ['no $match', { hie: { match: false } }],
    [
      'no CapabilityStatement and no $everything',
      { hie: { metadata: false, everything: false } },
    ],
    [
      'a search that answers everybody',
      { hie: { match: false, searchAnswersEverybody: true } },
    ],
    ['small pages', { hie: { pageSize: 37 } }],
  ])('hie: collects the same patient data over %s', async (_, change) => {
    const shared = /^(Practitioner|Organization|Location|Medication|Patient)\//;
    const patientData = async () =>
      identities(await collect('hie')).filter(
        (identity) => !shared.test(identity),
      );
    const expected = await patientData();
    await simulator.admin.changeSettings(change);
    expect([...new Set(await patientData())]).toEqual(expected);
  });

  test.each<[string, FaultRuleInput['fault']]>([
    ['an unknown patient', { type: 'unknown-patient' }],
    ['somebody else', { type: 'wrong-patient' }],
  ])('never takes %s for the one it asked about', async (_, fault) => {
    await simulator.admin.setRules([{ fault }]);
    for (const source of SOURCE_NAMES) {
      const outcome = await collect(source).catch(
        (error: { kind?: string }) => error.kind,
      );
      expect([undefined, 'refused']).toContain(outcome);
    }
  });

  test.each<[string, FaultRuleInput['fault'], ('bad-answer' | 'refused')?]>([
    ['broken JSON', { type: 'broken-json' }],
    ['HTML', { type: 'wrong-content-type' }],
    ['a page beyond all measure', { type: 'giant-page', bytes: 21_000_000 }],
    [
      'a link to somewhere else',
      { type: 'foreign-link', url: 'https://elsewhere.example/' },
      'refused',
    ],
  ])(
    'fails with a clear reason on %s',
    async (_, fault, kind = 'bad-answer') => {
      await simulator.admin.setRules([{ fault }]);
      for (const source of SOURCE_NAMES) {
        await expect(collect(source)).rejects.toMatchObject({
          name: 'SourceFailure',
          kind,
        });
      }
    },
  );

  test('tells a failed job from a failed request', async () => {
    await simulator.admin.setRules([{ fault: { type: 'job-fails' } }]);
    await expect(collect('hie')).rejects.toMatchObject({ kind: 'job-failed' });
  });

  test('puts strays aside and counts them', async () => {
    const expected = identities(await collect('hie'));
    await simulator.admin.setRules([
      { times: 1, fault: { type: 'stray', count: 4 } },
    ]);
    const pages = await collect('hie');
    expect(
      pages?.reduce(
        (sum, { misattributedCount }) => sum + misattributedCount,
        0,
      ),
    ).toBe(4);
    expect(identities(pages)).toEqual(expected);
  });

  test.each(['seealso', 'replaced-by'] as const)(
    'follows a Patient that is linked (%s)',
    async (link) => {
      const conditions = async () =>
        identities(await collect('hie')).filter((id) =>
          id.startsWith('Condition/'),
        );
      const expected = await conditions();
      await simulator.admin.setRules([
        { fault: { type: 'linked-patient', link } },
      ]);
      expect(await conditions()).toEqual(expected);
    },
  );
});
