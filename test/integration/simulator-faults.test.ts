import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import type { FaultRuleInput } from '../../src/local-stack/simulator/faults.ts';
import {
  askUrl,
  matchParameters,
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

let simulator: TestSimulator;
let logDir: string;
let logPath: string;
beforeAll(async () => {
  logDir = await mkdtemp(join(tmpdir(), 'simulator-log-'));
  logPath = join(logDir, 'requests.jsonl');
  simulator = await startTestSimulator({ requestLogPath: logPath });
});
afterAll(async () => {
  await simulator.close();
  await rm(logDir, { recursive: true });
});
beforeEach(async () => {
  await simulator.admin.clearRules();
  await simulator.admin.resetSettings();
});

const rules = (...list: FaultRuleInput[]) => simulator.admin.setRules(list);
const match = (key?: string) =>
  simulator.ask('hie', '/Patient/$match', {
    method: 'POST',
    json: matchParameters(sample(key)),
  });
const everything = async (key?: string) => {
  const id = await simulator.patientId('hie', sample(key));
  return simulator.ask('hie', `/Patient/${id}/$everything`);
};
const nextLink = (answer: {
  json: { link: { relation: string; url: string }[] };
}) => answer.json.link.find(({ relation }) => relation === 'next')?.url;

describe('a rule', () => {
  test('is applied as often as it says, to what it names, and then no more', async () => {
    await rules({
      source: 'hie',
      sample: 'keith-kiehn',
      operation: 'everything',
      times: 2,
      fault: { type: 'status', status: 503 },
    });
    expect((await everything('tamica-murazik')).status).toBe(200);
    const answers = [
      await everything(),
      await everything(),
      await everything(),
    ];
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 200]);
    expect(answers[0]?.json.resourceType).toBe('OperationOutcome');
    const { json } = await askUrl(`${simulator.url}/admin/rules`);
    expect(json).toMatchObject([{ applied: 2, times: 2 }]);
  });

  test('is refused, with the reason, where the fault cannot happen', async () => {
    await expect(
      rules({ operation: 'token', fault: { type: 'wrong-patient' } }),
    ).rejects.toThrow('this fault cannot happen at this operation');
    await expect(
      simulator.admin.changeSettings({ hie: { pageSize: 0 } }),
    ).rejects.toThrow('pageSize');
  });

  test('can fail the token endpoint too', async () => {
    await rules({
      operation: 'token',
      times: 1,
      fault: { type: 'status', status: 500 },
    });
    expect(
      (
        await askUrl(`${simulator.url}/hie/oauth/token`, {
          method: 'POST',
          form: {},
        })
      ).status,
    ).toBe(500);
  });
});

describe('faults of a request', () => {
  test('rate-limit responds 429 with Retry-After', async () => {
    await rules({
      operation: 'match',
      fault: { type: 'rate-limit', retryAfterSeconds: 3 },
    });
    expect(await match()).toMatchObject({
      status: 429,
      headers: { 'retry-after': '3' },
    });
  });

  test('a limit of a source lets no more through in a second', async () => {
    await simulator.admin.changeSettings({
      pharmacy: { requestsPerSecond: 2 },
    });
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() =>
        simulator.ask('pharmacy', '/MedicationRequest?patient=unknown'),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      200, 200, 429, 429,
    ]);
  });

  test('reset cuts the connection', async () => {
    await rules({ operation: 'match', fault: { type: 'reset' } });
    await expect(match()).rejects.toThrow(/ECONNRESET|other side closed/);
  });

  test('hang gives no answer while the caller waits', async () => {
    const { url, admin } = simulator;
    await rules({ operation: 'metadata', fault: { type: 'hang' } });
    const never = request(`${url}/hie/fhir/metadata`, {
      signal: AbortSignal.timeout(100),
    });
    await expect(never).rejects.toThrow();
    expect(
      (await admin.requests({ operation: 'metadata' })).at(-1),
    ).toMatchObject({
      status: 0,
      fault: 'hang',
    });
  });

  test('latency goes together with another fault', async () => {
    await rules(
      { operation: 'match', fault: { type: 'latency', ms: 20 } },
      { operation: 'match', fault: { type: 'status', status: 502 } },
    );
    expect((await match()).status).toBe(502);
    const entry = (await simulator.admin.requests({ operation: 'match' })).at(
      -1,
    );
    expect(entry?.fault).toBe('latency,status');
  });
});

describe('faults of an answer', () => {
  test('broken-json is sent as FHIR and cannot be read', async () => {
    await rules({ fault: { type: 'broken-json' } });
    const answer = await everything();
    expect(answer).toMatchObject({ status: 200, json: undefined });
    expect(answer.headers['content-type']).toContain('application/fhir+json');
  });

  test('wrong-content-type is a page of HTML', async () => {
    await rules({ fault: { type: 'wrong-content-type' } });
    expect((await everything()).headers['content-type']).toContain('text/html');
  });

  test('giant-page streams a readable Bundle of the size asked for', async () => {
    await rules({ fault: { type: 'giant-page', bytes: 5_000_000 } });
    const answer = await everything();
    expect(answer.text.length).toBeGreaterThanOrEqual(5_000_000);
    expect(answer.json.resourceType).toBe('Bundle');
  });

  test('stray mixes in resources of somebody else, and is kept for an answer that can show it', async () => {
    await rules({ times: 1, fault: { type: 'stray', count: 3 } });
    const id = await simulator.patientId('hie', sample());
    const kickOff = await simulator.ask('hie', `/Patient/${id}/$everything`, {
      headers: { prefer: 'respond-async' },
    });
    expect(kickOff.status).toBe(202);
    const page = await everything();
    const foreign = page.json.entry.filter(
      (entry: { resource: { resourceType: string; id: string } }) =>
        entry.resource.id !== id &&
        !JSON.stringify(entry).includes(`Patient/${id}`) &&
        /"Patient\//.test(JSON.stringify(entry)),
    );
    expect(foreign).toHaveLength(3);
  });

  test('foreign-link leads elsewhere, endless-pages round in a circle', async () => {
    await rules({
      times: 1,
      fault: { type: 'foreign-link', url: 'https://elsewhere.example/page' },
    });
    expect(nextLink(await everything())).toBe('https://elsewhere.example/page');
    await rules({ times: 1, fault: { type: 'endless-pages' } });
    const first = await everything();
    const again = await simulator.ask('hie', nextLink(first) ?? '');
    expect(again.json.entry).toEqual(first.json.entry);
  });
});

describe('faults of a match', () => {
  test('wrong-patient returns another person as a certain match', async () => {
    await rules({ fault: { type: 'wrong-patient' } });
    const { json } = await match();
    expect(json.entry[0].search.score).toBe(1);
    expect(json.entry[0].resource.name[0].family).not.toBe(
      sample().createBody.lastName,
    );
  });

  test('unknown-patient hits only the sample it names, in $match and in a search', async () => {
    await rules({ sample: 'keith-kiehn', fault: { type: 'unknown-patient' } });
    expect((await match()).json.total).toBe(0);
    expect((await match('tamica-murazik')).json.total).toBe(1);
    const form = { family: sample().createBody.lastName };
    const search = await simulator.ask('lab', '/Patient/_search', {
      method: 'POST',
      form,
    });
    expect(search.json.total).toBe(0);
  });

  test('is not used up by an operation that the source does not know', async () => {
    await rules({
      source: 'lab',
      times: 1,
      fault: { type: 'unknown-patient' },
    });
    const probe = { method: 'POST', json: matchParameters(sample()) } as const;
    expect((await simulator.ask('lab', '/Patient/$match', probe)).status).toBe(
      404,
    );
    const form = { family: sample().createBody.lastName };
    const search = () =>
      simulator.ask('lab', '/Patient/_search', { method: 'POST', form });
    expect((await search()).json.total).toBe(0);
    expect((await search()).json.total).toBe(1);
  });

  test.each(['seealso', 'replaced-by'] as const)(
    'linked-patient (%s) spreads the record over two Patients',
    async (link) => {
      const whole = await simulator.patientId('hie', sample());
      const total = (
        await simulator.ask('hie', `/Patient/${whole}/$everything`)
      ).json.total;
      await rules({ fault: { type: 'linked-patient', link } });
      const [{ resource: first }] = (await match()).json.entry;
      expect(first.link).toMatchObject([{ type: link }]);
      const secondId = first.link[0].other.reference.replace('Patient/', '');
      const parts = await Promise.all(
        [first.id, secondId].map((id) =>
          simulator.allPages('hie', `/Patient/${id}/$everything`),
        ),
      );
      expect(parts.flat()).toHaveLength(total + 1);
      expect(JSON.stringify(parts[1])).toContain(
        `"subject":{"reference":"Patient/${secondId}"`,
      );
      expect(JSON.stringify(parts)).not.toContain(`Patient/${whole}`);
    },
  );
});

describe('the request log', () => {
  test('names samples and faults, and never a person', async () => {
    const person = sample();
    await match();
    await simulator.ask(
      'hie',
      `/Patient?family=${person.createBody.lastName}&birthdate=${person.createBody.dob}`,
    );
    const log = await readFile(logPath, 'utf8');
    expect(log).toContain('"sample":"keith-kiehn"');
    for (const secret of [
      person.createBody.firstName,
      person.createBody.lastName,
      person.createBody.dob,
    ]) {
      expect(log).not.toContain(secret);
    }
    const entries = await simulator.admin.requests({
      source: 'hie',
      sample: 'keith-kiehn',
      operation: 'match',
    });
    expect(entries.at(-1)).toMatchObject({
      method: 'GET',
      path: '/hie/fhir/Patient',
      status: 200,
    });
  });
});
