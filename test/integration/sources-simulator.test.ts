import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
  vi,
} from 'vitest';
import type { SourceType } from '../../src/contract/primitives.ts';
import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';
import type {
  Begin,
  JobHandle,
  Poll,
  SourceConnector,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { createConnectors } from '../../src/exchange/sources/connectors/create-connector.ts';
import type { SamplePatient } from '../../src/local-stack/sample-patients.ts';
import type { FaultRuleInput } from '../../src/local-stack/simulator/faults.ts';
import type { SettingsChange } from '../../tools/simulator/settings.ts';
import {
  SIMULATOR_CREDENTIALS,
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

const quickJobs: SettingsChange = {
  hie: { jobLatencyMs: { min: 20, max: 60 }, retryAfterSeconds: 0 },
};
const never = new AbortController().signal;
const person = demographicsOf(sample());

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator({ settings: quickJobs });
});
afterAll(() => simulator.close());
beforeEach(async () => {
  await simulator.admin.clearRules();
  await simulator.admin.resetSettings();
});

describe('each source, as it comes', () => {
  test('the HIE makes a job, announces it, and brings the record with its documents', async () => {
    const hie = connectors().hie;
    const begin = await hie.begin(
      person,
      { callbackUrl: 'http://127.0.0.1:9/callback' },
      never,
    );
    expect(begin.kind).toBe('accepted');
    const pages = await finish(hie, begin);
    expect(typesOf(pages)).toEqual(
      expect.arrayContaining([
        'Patient',
        'Condition',
        'Encounter',
        'DocumentReference',
      ]),
    );
    expect(
      sum(pages, 'misattributedCount') + sum(pages, 'skippedAttachments'),
    ).toBe(0);
    const attachments = pages.flatMap((page) => page.attachments);
    expect(attachments.length).toBeGreaterThan(0);
    expect(attachments.every(({ bytes }) => bytes.length > 0)).toBe(true);
    await vi.waitFor(
      async () =>
        expect(
          await simulator.admin.requests({ operation: 'callback' }),
        ).not.toEqual([]),
      { timeout: 240_000 },
    );
  });

  test('the pharmacy answers at once with medications only', async () => {
    const pages = await collect('pharmacy');
    const types = typesOf(pages);
    expect(types).toContain('MedicationRequest');
    expect(
      types.filter(
        (type) =>
          !/^Medication|^Practitioner|^Organization|^Location/.test(type),
      ),
    ).toEqual([]);
    expect(sum(pages, 'misattributedCount')).toBe(0);
  });

  test('the lab knows neither $match nor $everything and is searched', async () => {
    const pages = await collect('lab');
    expect(typesOf(pages)).toEqual(
      expect.arrayContaining([
        'DiagnosticReport',
        'Observation',
        'Organization',
      ]),
    );
    expect(pages.at(-1)?.next).toBeNull();
    expect(sum(pages, 'misattributedCount')).toBe(0);
  });

  test.each(['hie', 'pharmacy', 'lab'] as const)(
    '%s does not know a stranger',
    async (source) => {
      const stranger = { ...person, lastNames: ['Nobody'], dob: '1901-02-03' };
      expect(await connectors()[source].begin(stranger, {}, never)).toEqual({
        kind: 'unknown-patient',
      });
    },
  );

  test('a lost page is fetched again from the recorded cursor, and nothing else', async () => {
    await simulator.admin.changeSettings({
      hie: { async: false, pageSize: 20 },
    });
    const hie = connectors().hie;
    const whole = await collect('hie');
    expect(whole.length).toBeGreaterThan(3);
    const cursor = JSON.parse(JSON.stringify(whole[1]?.next)) as Record<
      string,
      unknown
    >;
    const rest = await allOf(connectors().hie.resume(cursor, never));
    expect(idsOf(rest)).toEqual(idsOf(whole.slice(2)));
    expect(await collectAll(hie)).toEqual(idsOf(whole));
  });
});

describe('a document network by IHE PDQm and MHD', () => {
  const network: SettingsChange = { hie: { documentNetwork: true } };
  const documents = (pages: SourcePage[]) =>
    idsOf(pages).filter((id) => id.startsWith('DocumentReference/'));

  test('finds the person by $match and brings the same documents as the HIE, and nothing else', async () => {
    const usual = await collect('hie');
    const before = (await simulator.admin.requests({ source: 'hie' })).length;
    await simulator.admin.changeSettings(network);
    const pages = await collect('hie');
    expect(new Set(typesOf(pages))).toEqual(
      new Set(['Patient', 'DocumentReference', 'Organization', 'Practitioner']),
    );
    expect(documents(pages)).toEqual(documents(usual));
    // The HIE gives each note with its DiagnosticReport, too.
    const bytesOf = (all: SourcePage[]) => {
      const files = all.flatMap(({ attachments }) => attachments);
      return new Set(files.map(({ bytes }) => bytes.toString('base64')));
    };
    expect(bytesOf(pages)).toEqual(bytesOf(usual));
    expect(
      sum(pages, 'misattributedCount') + sum(pages, 'skippedAttachments'),
    ).toBe(0);
    const asked = (await simulator.admin.requests({ source: 'hie' })).slice(
      before,
    );
    expect(
      asked.some(
        ({ path, status }) => path.endsWith('$match') && status === 200,
      ),
    ).toBe(true);
  });

  test('whose $match fails is searched, and says so', async () => {
    await simulator.admin.changeSettings(network);
    await simulator.admin.setRules([
      {
        source: 'hie',
        operation: 'match',
        times: 1,
        fault: { type: 'status', status: 500 },
      },
    ]);
    const begun = await connectors().hie.begin(person, {}, never);
    expect(begun).toMatchObject({
      kind: 'ready',
      notice:
        'hie answered 500 (exception) to Patient/$match; the patient was searched for instead',
    });
  });

  test.each<[string, FaultRuleInput['fault'], string]>([
    ['refuses', { type: 'status', status: 403 }, 'denied'],
    ['fails', { type: 'status', status: 503 }, 'transport'],
    ['limits', { type: 'rate-limit', retryAfterSeconds: 1 }, 'rate-limited'],
  ])(
    'that %s the search of documents is not taken for one without documents',
    async (_, fault, kind) => {
      await simulator.admin.changeSettings(network);
      await simulator.admin.setRules([
        { source: 'hie', operation: 'document', fault },
      ]);
      await expect(collect('hie')).rejects.toMatchObject({ kind });
    },
  );

  test('brings each document once, over pages of one', async () => {
    await simulator.admin.changeSettings({
      hie: { documentNetwork: true, pageSize: 1 },
    });
    const pages = await collect('hie');
    expect(new Set(documents(pages)).size).toBe(documents(pages).length);
    expect(documents(pages).length).toBeGreaterThan(0);
  });
});

describe('every way to answer brings the same record', () => {
  const everyWay: Array<[string, SettingsChange]> = [
    ['at once', { hie: { async: false } }],
    ['as a batch-response', { hie: { asyncResult: 'batch-response' } }],
    ['as NDJSON files', { hie: { asyncResult: 'manifest' } }],
    [
      'as files without a token',
      { hie: { asyncResult: 'manifest', manifestRequiresAccessToken: false } },
    ],
    ['without a CapabilityStatement', { hie: { metadata: false } }],
    ['without $match', { hie: { match: false } }],
    [
      'to a search that answers everybody',
      { hie: { match: false, searchAnswersEverybody: true } },
    ],
    [
      'to searches by type',
      { hie: { metadata: false, match: false, everything: false } },
    ],
    ['on small pages', { hie: { pageSize: 7 } }],
  ];

  test.each(everyWay)('%s', async (_, settings) => {
    const usual = await collect('hie');
    await simulator.admin.changeSettings(settings);
    const pages = await collect('hie');
    // Whom a record refers to (practitioners, places) comes along with
    // $everything only.
    const clinical = (all: SourcePage[]) =>
      idsOf(all).filter(
        (id) => !/^(Practitioner|Organization|Location)/.test(id),
      );
    expect(clinical(pages)).toEqual(clinical(usual));
    expect(sum(pages, 'misattributedCount')).toBe(0);
    expect(sum(pages, 'skippedAttachments')).toBe(0);
  });

  test('a manifest with errors says how many', async () => {
    await simulator.admin.changeSettings({
      hie: { asyncResult: 'manifest', manifestWithErrors: true },
    });
    expect(sum(await collect('hie'), 'reportedErrors')).toBe(1);
  });

  test.each(['seealso', 'replaced-by'] as const)(
    'a record spread over linked Patients (%s)',
    async (link) => {
      const usual = await collect('pharmacy');
      await rules({ fault: { type: 'linked-patient', link } });
      const pages = await collect('pharmacy');
      expect(idsOf(pages)).toEqual(idsOf(usual));
      expect(sum(pages, 'misattributedCount')).toBe(0);
    },
  );
});

describe('faults become failures of a kind, with a reason', () => {
  const faults: Array<[SourceType, FaultRuleInput, object]> = [
    [
      'hie',
      { operation: 'match', fault: { type: 'status', status: 503 } },
      {
        kind: 'transport',
        message: expect.stringContaining('hie answered 503'),
      },
    ],
    [
      'pharmacy',
      {
        operation: 'everything',
        fault: { type: 'rate-limit', retryAfterSeconds: 3 },
      },
      {
        kind: 'rate-limited',
        options: { retryAfterMs: 3_000, httpStatus: 429 },
      },
    ],
    [
      'lab',
      { operation: 'match', fault: { type: 'status', status: 403 } },
      { kind: 'denied' },
    ],
    [
      'lab',
      {
        operation: 'match',
        fault: { type: 'status', status: 403, code: 'suppressed' },
      },
      {
        kind: 'refused',
        message: expect.stringContaining('lab answered 403 (suppressed)'),
      },
    ],
    [
      'hie',
      { operation: 'match', fault: { type: 'reset' } },
      { kind: 'transport' },
    ],
    [
      'hie',
      { operation: 'match', fault: { type: 'hang' } },
      {
        kind: 'transport',
        message: 'hie did not answer Patient/$match within 1 s',
      },
    ],
    [
      'hie',
      { operation: 'token', fault: { type: 'status', status: 500 } },
      { kind: 'transport' },
    ],
    [
      'hie',
      { fault: { type: 'wrong-patient' } },
      {
        kind: 'refused',
        message: expect.stringContaining(
          'hie answered Patient/$match with another patient as a certain match',
        ),
      },
    ],
    [
      'pharmacy',
      { fault: { type: 'broken-json' } },
      {
        kind: 'bad-answer',
        message: 'pharmacy answered Patient/$everything with broken JSON',
      },
    ],
    [
      'pharmacy',
      { fault: { type: 'wrong-content-type' } },
      {
        kind: 'bad-answer',
        message:
          'pharmacy answered Patient/$everything with text/html instead of FHIR JSON',
      },
    ],
    [
      'pharmacy',
      { fault: { type: 'giant-page', bytes: 100_000_000 } },
      {
        kind: 'bad-answer',
        message: expect.stringMatching(
          /^pharmacy answered .* with more than 20 MB, also when asked for one resource; pageBytesMax of PHARMACY_SETTINGS is the limit$/,
        ),
      },
    ],
    [
      'hie',
      {
        fault: { type: 'foreign-link', url: 'https://elsewhere.example/page' },
      },
      {
        kind: 'refused',
        message: expect.stringContaining(
          'https://elsewhere.example, which is not one of its configured origins: name it in allowedOrigins of HIE_SETTINGS',
        ),
      },
    ],
    [
      'hie',
      { fault: { type: 'endless-pages' } },
      {
        kind: 'bad-answer',
        message: expect.stringContaining('loop'),
      },
    ],
    [
      'hie',
      { fault: { type: 'job-fails' } },
      {
        kind: 'job-failed',
        message: expect.stringContaining('hie failed the job it accepted (500'),
      },
    ],
  ];

  test.each(faults)('%s: %o', async (source, rule, failure) => {
    await simulator.admin.changeSettings({ hie: { pageSize: 20 } });
    await rules({ ...rule, source });
    const timeoutSeconds = rule.fault.type === 'hang' ? 1 : undefined;
    await expect(collect(source, timeoutSeconds)).rejects.toMatchObject(
      failure,
    );
  });

  test('a stray resource is put aside, counted, and in no document', async () => {
    const usual = await collect('pharmacy');
    await rules({ fault: { type: 'stray', count: 3 } });
    const pages = await collect('pharmacy');
    expect(idsOf(pages)).toEqual(idsOf(usual));
    expect(sum(pages, 'misattributedCount')).toBe(3);
    const patientId = await simulator.patientId('pharmacy', sample());
    const named = pages.flatMap(
      ({ raw }) => raw.bytes.toString().match(/Patient\/[\w.-]+/g) ?? [],
    );
    expect(new Set(named)).toEqual(new Set([`Patient/${patientId}`]));
  });

  test('a job that never ends stays pending, is cancelled, and cancelled again without harm', async () => {
    await rules({ fault: { type: 'job-never-ends' } });
    const hie = connectors().hie;
    const begin = await hie.begin(person, {}, never);
    if (begin.kind !== 'accepted') throw new Error(begin.kind);
    expect((await hie.poll(begin.job, never)).kind).toBe('pending');
    await hie.cancel(begin.job, never);
    await hie.cancel(begin.job, never);
    await expect(hie.poll(begin.job, never)).rejects.toMatchObject({
      kind: 'job-failed',
    });
  });
});

/**
 * @param requestTimeoutSeconds short only where it is to run out: a busy
 *   machine may take seconds for an answer
 */
function connectors(
  requestTimeoutSeconds = 60,
): Record<SourceType, SourceConnector> {
  const { hie, pharmacyToken, labToken } = SIMULATOR_CREDENTIALS;
  const base = (source: SourceType) => ({
    source,
    baseUrl: `${simulator.url}/${source}/fhir`,
    requestTimeoutSeconds,
  });
  return createConnectors({
    hie: {
      ...base('hie'),
      auth: {
        kind: 'client-credentials',
        tokenUrl: `${simulator.url}/hie/oauth/token`,
        ...hie,
      },
    },
    pharmacy: {
      ...base('pharmacy'),
      auth: { kind: 'bearer', token: pharmacyToken },
    },
    lab: { ...base('lab'), auth: { kind: 'bearer', token: labToken } },
  });
}

const rules = (...list: FaultRuleInput[]) => simulator.admin.setRules(list);

async function collect(
  source: SourceType,
  requestTimeoutSeconds?: number,
): Promise<SourcePage[]> {
  const connector = connectors(requestTimeoutSeconds)[source];
  return finish(connector, await connector.begin(person, {}, never));
}

async function collectAll(connector: SourceConnector): Promise<string[]> {
  return idsOf(
    await finish(connector, await connector.begin(person, {}, never)),
  );
}

async function finish(
  connector: SourceConnector,
  begin: Begin,
): Promise<SourcePage[]> {
  if (begin.kind === 'unknown-patient')
    throw new Error('the source does not know the patient');
  if (begin.kind === 'ready') return allOf(begin.pages);
  let job: JobHandle = JSON.parse(JSON.stringify(begin.job)) as JobHandle;
  const ready = await vi.waitFor(
    async (): Promise<AsyncIterable<SourcePage> | Error> => {
      // A failure is the outcome; only "pending" is worth another try.
      const poll: Poll | Error = await connector
        .poll(job, never)
        .catch((error: Error) => error);
      if (poll instanceof Error) return poll;
      if (poll.kind === 'ready') return poll.pages;
      if (poll.kind === 'pending') job = poll.job;
      throw new Error('pending');
    },
    { timeout: 240_000, interval: 20 },
  );
  if (ready instanceof Error) throw ready;
  return allOf(ready);
}

async function allOf(pages: AsyncIterable<SourcePage>): Promise<SourcePage[]> {
  const all: SourcePage[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

/** Sorted, each once: a resource may come with more than one page. */
function idsOf(pages: SourcePage[]): string[] {
  const ids = pages.flatMap(({ resources }) =>
    resources.map(({ resourceType, id }) => `${resourceType}/${id}`),
  );
  return [...new Set(ids)].sort();
}

function typesOf(pages: SourcePage[]): string[] {
  return [
    ...new Set(
      pages.flatMap(({ resources }) =>
        resources.map(({ resourceType }) => resourceType),
      ),
    ),
  ];
}

function sum(
  pages: SourcePage[],
  count: 'misattributedCount' | 'skippedAttachments' | 'reportedErrors',
): number {
  return pages.reduce((total, page) => total + page[count], 0);
}

function demographicsOf({ createBody }: SamplePatient): Demographics {
  return {
    firstNames: createBody.firstName.split(/[,\s]+/),
    lastNames: createBody.lastName.split(/[,\s]+/),
    dob: createBody.dob,
    gender: createBody.genderAtBirth,
    addresses: createBody.address,
    contacts: createBody.contact,
    personalIdentifiers: createBody.personalIdentifiers,
  };
}
