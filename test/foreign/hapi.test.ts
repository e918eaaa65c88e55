import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { insertPatient } from '../../src/exchange/people/patients/patient-store.ts';
import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';
import { newContent } from '../../src/exchange/people/patients/rules/patient-content.ts';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import type { SourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { createHapi, type HapiServer, hapiMissing } from './hapi-server.ts';
import { startProxy } from './proxy.ts';

const missing = hapiMissing();
if (missing !== undefined)
  process.stdout.write(`HAPI FHIR is not tested against: ${missing}.\n`);

const person: Demographics = {
  firstNames: ['Ada'],
  lastNames: ['Lovelace'],
  dob: '1985-12-10',
  gender: 'F',
  addresses: [
    {
      addressLine1: '1 Main St',
      city: 'Boston',
      state: 'MA',
      zip: '02115',
      country: 'USA',
    },
  ],
  contacts: [{ phone: '6175550100' }],
  personalIdentifiers: [],
};
/** A resource as HAPI is to store it. */
interface Stored {
  resourceType: string;
  id: string;
  [member: string]: unknown;
}

const named = (
  first: string,
  last: string,
  dob = person.dob,
): Demographics => ({
  ...person,
  firstNames: [first],
  lastNames: [last],
  dob,
});
const observation = (id: string, patientId: string, text = 'normal') => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text },
  subject: { reference: `Patient/${patientId}` },
});
const patient = (id: string, rest: object = {}) => ({
  resourceType: 'Patient',
  id,
  name: [{ family: 'Lovelace', given: ['Ada'] }],
  birthDate: person.dob,
  gender: 'female',
  address: [{ line: ['1 Main Street'], postalCode: '02115-1234' }],
  telecom: [{ system: 'phone', value: '(617) 555-0100' }],
  ...rest,
});

describe.skipIf(missing !== undefined)('HAPI FHIR 8.8 (JPA server, R4)', () => {
  let folder: string;
  let hapi: HapiServer;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let environment: QueryEnvironment;
  let accountId: string;
  beforeAll(async () => {
    folder = await makeTestFolder();
    hapi = await createHapi(folder);
    await hapi.start();
    proxy = await startProxy(hapi.port);
    environment = await createQueryEnvironment();
    accountId = (await environment.addAccount()).accountId;
  });
  afterAll(async () => {
    await environment?.close();
    await proxy?.stop();
    await hapi?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    proxy.answer(() => undefined);
    proxy.nameServer(undefined);
    proxy.asked.length = 0;
  });

  const put = (resource: Stored) =>
    hapi.call('PUT', `${resource.resourceType}/${resource.id}`, resource);
  const putAll = async (resources: Stored[]) => {
    for (let start = 0; start < resources.length; start += 500) {
      const entry = resources.slice(start, start + 500).map((resource) => ({
        resource,
        request: {
          method: 'PUT',
          url: `${resource.resourceType}/${resource.id}`,
        },
      }));
      await hapi.call('POST', '', {
        resourceType: 'Bundle',
        type: 'batch',
        entry,
      });
    }
  };
  const addPatient = async (demographics: Demographics) => {
    const id = uuidv7();
    await environment.store.asAccount(accountId, (tx) =>
      insertPatient(tx, id, newContent(demographics, {}, [uuidv7()]), []),
    );
    return id;
  };
  const connect = (config: Partial<SourceConfig> = {}) =>
    createFhirConnector({
      source: 'hie',
      baseUrl: proxy.baseUrl,
      auth: { kind: 'none' },
      ...config,
    });

  /**
   * Asks HAPI once about a patient, as the workflow's step does. Each call may
   * be repeated with the same request.
   */
  async function ask(
    patientId: string,
    config: Partial<SourceConfig> = {},
    known?: string,
    clock?: () => Date,
  ) {
    const requestId =
      known ?? (await environment.addQuery(accountId, patientId, ['hie']));
    const { askSource } = environment.activities(connect(config), { clock });
    const failure = await runActivity(
      askSource,
      stepOf(accountId, requestId, 'hie'),
    ).then(
      () => undefined,
      (error: Error) => error,
    );
    const { resources } = await environment.outcome(accountId, requestId);
    const timeline = await environment.timeline(accountId, requestId);
    return {
      requestId,
      failure,
      names: resources
        .map(({ resource_type, source_id }) => `${resource_type}/${source_id}`)
        .sort(),
      hashes: resources.map(({ sha256 }) => String(sha256)).sort(),
      told: timeline.map(({ kind, message }) => `${kind}: ${message}`),
    };
  }

  test.each([
    [
      'garcia',
      named('Ana', 'Garcia-Lopez', '1971-01-01'),
      { family: 'Lopez', given: ['Ana'] },
    ],
    [
      'lopez',
      named('Ana', 'Lopez', '1971-01-02'),
      { family: 'Garcia-Lopez', given: ['Ana'] },
    ],
    [
      'obrien',
      named('Maeve', "O'Brien", '1971-01-03'),
      { family: 'OBrien', given: ['Maeve'] },
    ],
    [
      'obrien2',
      named('Maeve', 'OBrien', '1971-01-04'),
      { family: "O'Brien", given: ['Maeve'] },
    ],
    [
      'obrien3',
      named('Maeve', "O'Brien", '1971-01-05'),
      { family: 'O’Brien', given: ['Maeve'] },
    ],
    [
      'berg',
      named('Jan', 'Van der Berg', '1971-01-06'),
      { family: 'Vanderberg', given: ['Jan'] },
    ],
    ['text', named('Ada', 'Lovelace', '1971-01-07'), { text: 'Ada Lovelace' }],
    [
      'accent',
      named('José', 'Núñez', '1971-01-08'),
      { family: 'Nunez', given: ['Jose'] },
    ],
  ])(
    'a person is found whose name is stored otherwise (%s)',
    async (id, ours, name) => {
      await put(patient(id, { name: [name], birthDate: ours.dob }));
      await put(observation(`${id}-o`, id));
      const { names, told } = await ask(await addPatient(ours));
      expect(names).toEqual([`Observation/${id}-o`, `Patient/${id}`]);
      expect(told.join('\n')).not.toMatch(/incomplete|failed/);
    },
  );

  test('of two people of one name and birth date, the one who shares no zip, phone or identifier stays unknown', async () => {
    const ours = named('Grace', 'Hopper', '1972-01-01');
    const namesake = {
      name: [{ family: 'Hopper', given: ['Grace'] }],
      birthDate: ours.dob,
    };
    await put(
      patient('namesake', {
        ...namesake,
        address: [{ postalCode: '90210' }],
        telecom: undefined,
      }),
    );
    const patientId = await addPatient(ours);
    const unknown = await ask(patientId);
    expect(unknown.names).toEqual([]);
    expect(unknown.told.join('\n')).toContain(
      'The source does not know this patient',
    );
    // HAPI repeats search results for a minute unless it is asked not to.
    await put(patient('grace', namesake));
    expect((await ask(patientId)).names).toEqual(['Patient/grace']);
  });

  test('two thousand observations come page by page, with contained and included resources', async () => {
    const ours = named('Alan', 'Many', '1973-01-01');
    await put(
      patient('many', {
        name: [{ family: 'Many', given: ['Alan'] }],
        birthDate: ours.dob,
      }),
    );
    await put({ resourceType: 'Practitioner', id: 'doc' });
    await putAll(
      Array.from({ length: 2_000 }, (_, n) => observation(`many-${n}`, 'many')),
    );
    await put({
      ...observation('many-performer', 'many'),
      performer: [{ reference: 'Practitioner/doc' }],
    });
    await put({
      resourceType: 'MedicationRequest',
      id: 'many-m',
      status: 'active',
      intent: 'order',
      contained: [
        { resourceType: 'Medication', id: 'drug', code: { text: 'Aspirin' } },
      ],
      medicationReference: { reference: '#drug' },
      subject: { reference: 'Patient/many' },
    });
    const { names, told } = await ask(await addPatient(ours));
    expect(
      names.filter((name) => name.startsWith('Observation/')),
    ).toHaveLength(2_001);
    expect(names).toEqual(
      expect.arrayContaining([
        'Practitioner/doc',
        'MedicationRequest/many-m',
        'Patient/many',
      ]),
    );
    expect(told.join('\n')).not.toMatch(/incomplete|failed/);
    expect(
      proxy.asked.filter((path) => path.includes('_getpages')).length,
    ).toBeGreaterThanOrEqual(10);
  });

  test('of pages over the limit only the one resource that is larger is left out, and named', async () => {
    const ours = named('Bea', 'Large', '1974-01-01');
    await put(
      patient('large', {
        name: [{ family: 'Large', given: ['Bea'] }],
        birthDate: ours.dob,
      }),
    );
    await putAll(
      Array.from({ length: 30 }, (_, n) =>
        observation(`large-${n}`, 'large', 'x'.repeat(2_000)),
      ),
    );
    await put(observation('large-x', 'large', 'x'.repeat(200_000)));
    const { names, told } = await ask(await addPatient(ours), {
      pageBytesMax: 30_000,
    });
    expect(
      names.filter((name) => name.startsWith('Observation/')),
    ).toHaveLength(30);
    expect(told).toContain(
      'incomplete: 1 resource larger than a page may be left out (Observation/large-x)',
    );
  });

  test('more than a hundred documents are fetched, a large one among them', async () => {
    const ours = named('Cy', 'Papers', '1975-01-01');
    await put(
      patient('papers', {
        name: [{ family: 'Papers', given: ['Cy'] }],
        birthDate: ours.dob,
      }),
    );
    const binary = (id: string, sizeBytes: number) => ({
      resourceType: 'Binary',
      id,
      contentType: 'application/pdf',
      data: Buffer.alloc(sizeBytes, id).toString('base64'),
    });
    const reference = (id: string) => ({
      resourceType: 'DocumentReference',
      id: `ref-${id}`,
      status: 'current',
      subject: { reference: 'Patient/papers' },
      content: [
        { attachment: { contentType: 'application/pdf', url: `Binary/${id}` } },
      ],
    });
    const ids = Array.from({ length: 120 }, (_, n) => `paper-${n}`);
    await putAll(ids.flatMap((id) => [binary(id, 100), reference(id)]));
    await put(binary('big', 6_000_000));
    await put(reference('big'));
    const { requestId, told } = await ask(await addPatient(ours));
    const { documents } = await environment.outcome(accountId, requestId);
    const attachments = documents.filter(({ kind }) => kind === 'attachment');
    expect(attachments).toHaveLength(121);
    expect(attachments.map(({ size_bytes }) => Number(size_bytes))).toContain(
      6_000_000,
    );
    expect(told.join('\n')).not.toMatch(/could not be fetched/);
  });

  test('documents are found by the search of IHE MHD: each content once, and superseded ones by their status', async () => {
    const ours = named('Max', 'Lister', '1975-02-01');
    await put(
      patient('lister', {
        name: [{ family: 'Lister', given: ['Max'] }],
        birthDate: ours.dob,
      }),
    );
    const reference = (id: string, status: string) => ({
      resourceType: 'DocumentReference',
      id: `mhd-${id}`,
      status,
      subject: { reference: 'Patient/lister' },
      content: [
        { attachment: { contentType: 'text/plain', url: `Binary/mhd-${id}` } },
      ],
    });
    const ids = Array.from({ length: 25 }, (_, n) => String(n));
    await putAll(
      ids.flatMap((id) => [
        {
          resourceType: 'Binary',
          id: `mhd-${id}`,
          contentType: 'text/plain',
          data: Buffer.from(id).toString('base64'),
        },
        reference(id, 'current'),
      ]),
    );
    const patientId = await addPatient(ours);
    const config = { documentSearch: true, pageSize: 10 };
    const first = await ask(patientId, config);
    expect(
      first.names.filter((name) => name.startsWith('DocumentReference/')),
    ).toHaveLength(25);
    expect(first.told.join('\n')).not.toMatch(/incomplete|failed/);
    expect(
      proxy.asked.filter((path) => path.includes('DocumentReference/_search')),
    ).toHaveLength(2);
    expect(
      new Set(proxy.asked.filter((path) => path.includes('Binary/'))).size,
    ).toBe(25);
    expect(proxy.asked.filter((path) => path.includes('Binary/'))).toHaveLength(
      25,
    );
    await put(reference('3', 'superseded'));
    // Without $everything, only the second search shows that the document is no
    // longer current.
    proxy.answer((path) =>
      path.includes('$everything')
        ? { status: 404, code: 'not-supported' }
        : undefined,
    );
    const second = await ask(patientId, config);
    const [stored] = await environment.store.asAccount(accountId, (tx) =>
      tx.db
        .selectFrom('delivered_resource')
        .select('content')
        .where('patient_id', '=', patientId)
        .where('source_id', '=', 'mhd-3')
        .execute(),
    );
    expect(stored?.content).toMatchObject({ status: 'superseded' });
    expect(second.told.join('\n')).not.toMatch(/retired|could not be fetched/);
  });

  test('a server that does not have $match is searched, also if the connection says that it has', async () => {
    const ours = named('Pia', 'Matchless', '1975-03-01');
    await put(
      patient('matchless', {
        name: [{ family: 'Matchless', given: ['Pia'] }],
        birthDate: ours.dob,
      }),
    );
    const { names } = await ask(await addPatient(ours), { patientMatch: true });
    expect(names).toEqual(['Patient/matchless']);
    expect(proxy.asked.filter((path) => path.includes('$match'))).toHaveLength(
      1,
    );
  });

  test('records that Patient.link joins are collected together', async () => {
    const ours = named('Dee', 'Linked', '1976-01-01');
    const name = [{ family: 'Linked', given: ['Dee'] }];
    await put(
      patient('old', {
        name,
        birthDate: ours.dob,
        address: [{ postalCode: '90210' }],
      }),
    );
    const link = [{ other: { reference: 'Patient/old' }, type: 'replaces' }];
    await put(patient('new', { name, birthDate: ours.dob, link }));
    await putAll([observation('old-o', 'old'), observation('new-o', 'new')]);
    const { names } = await ask(await addPatient(ours));
    expect(names).toEqual([
      'Observation/new-o',
      'Observation/old-o',
      'Patient/new',
      'Patient/old',
    ]);
  });

  test('links under another host name fail once with the variables to set, and are rewritten on request', async () => {
    const ours = named('Eve', 'Hosts', '1977-01-01');
    await put(
      patient('hosts', {
        name: [{ family: 'Hosts', given: ['Eve'] }],
        birthDate: ours.dob,
      }),
    );
    await putAll(
      Array.from({ length: 30 }, (_, n) => observation(`hosts-${n}`, 'hosts')),
    );
    proxy.nameServer('hapi.internal:8080');
    const patientId = await addPatient(ours);
    const refused = await ask(patientId, { pageSize: 10 });
    expect(refused.failure).toMatchObject({ nonRetryable: true });
    expect(refused.told.at(-1)).toContain(
      'linked to http://hapi.internal:8080, which is not one of its configured origins: name it in allowedOrigins of HIE_SETTINGS, or in ownBaseUrls of HIE_SETTINGS',
    );
    const rewritten = await ask(patientId, {
      pageSize: 10,
      ownBaseUrls: ['http://hapi.internal:8080/fhir'],
    });
    expect(rewritten.names).toHaveLength(31);
  });

  test.each([
    [401, 'login', 'Call 1: hie answered 401 (login) to Patient/$everything'],
    [
      403,
      'forbidden',
      'Call 1: hie answered 403 (forbidden) to Patient/$everything',
    ],
    [
      412,
      'conflict',
      'Call 1: hie answered 412 (conflict) to Patient/$everything',
    ],
    [
      422,
      'invalid',
      'Call 1: hie answered 422 (invalid) to Patient/$everything',
    ],
    [
      429,
      'throttled',
      'Call 1: hie answered 429 (throttled) to Patient/$everything; asked to wait 7 s',
    ],
    [
      503,
      'transient',
      'Call 1: hie answered 503 (transient) to Patient/$everything; asked to wait 7 s',
    ],
  ])(
    '%s with an OperationOutcome is reported by its code, never by its text',
    async (status, code, message) => {
      const ours = named('Fay', 'Faults', '1978-01-01');
      await put(
        patient('faults', {
          name: [{ family: 'Faults', given: ['Fay'] }],
          birthDate: ours.dob,
        }),
      );
      const headers: Record<string, string> =
        status === 429 || status === 503 ? { 'retry-after': '7' } : {};
      proxy.answer((path) =>
        path.includes('$everything') ? { status, code, headers } : undefined,
      );
      const patientId = await addPatient(ours);
      const { failure, told, requestId } = await ask(patientId);
      // Refused credentials hold the connection until an operator mends them,
      // so the call is repeated.
      expect(failure).toMatchObject({
        nonRetryable: status === 412 || status === 422,
      });
      expect(told).toContain(`call-failed: ${message}`);
      expect(told.join('\n')).not.toContain('Ada Lovelace');
      proxy.answer(() => undefined);
      if (status >= 429)
        expect((await ask(patientId, {}, requestId)).names).toEqual([
          'Patient/faults',
        ]);
    },
  );

  test('deleted resources are retired, and changed ones replaced, by the next query', async () => {
    const ours = named('Gus', 'Changes', '1979-01-01');
    await put(
      patient('changes', {
        name: [{ family: 'Changes', given: ['Gus'] }],
        birthDate: ours.dob,
      }),
    );
    await putAll([
      observation('stays', 'changes'),
      observation('goes', 'changes'),
    ]);
    const patientId = await addPatient(ours);
    const first = await ask(patientId);
    expect(first.names).toContain('Observation/goes');
    await hapi.call('DELETE', 'Observation/goes');
    await put(observation('stays', 'changes', 'corrected'));
    const second = await ask(patientId);
    expect(second.names).toEqual(['Observation/stays', 'Patient/changes']);
    expect(second.hashes).not.toEqual(first.hashes);
    expect(second.told).toContain(
      'retired: The source no longer has 1 resource: it was retired (1 Observation)',
    );
  });

  describe('a second query', () => {
    // What was found out about the server by another test.
    beforeEach(async () => {
      await environment.store.asSystem((tx) =>
        tx.db.deleteFrom('source_change_check').execute(),
      );
    });

    /**
     * The next query of this patient asks for what HAPI stores from now on: a
     * day has passed.
     */
    const aDayLater = async (patientId: string) => {
      await delay(3_000);
      await environment.store.asAccount(accountId, (tx) =>
        sql`update source_collection set asked_at = clock_timestamp() + interval '1 day'
          where patient_id = ${patientId}`.execute(tx.db),
      );
    };
    /**
     * The first request that HAPI answers after its start may take longer than
     * a source is given.
     */
    const patience = { requestTimeoutSeconds: 120 };
    const tomorrow = () => new Date(Date.now() + 25 * 60 * 60_000);
    const askTomorrow = async (patientId: string) => {
      const { told, ...rest } = await ask(
        patientId,
        patience,
        undefined,
        tomorrow,
      );
      const lines = told.join('\n');
      const isWhole =
        lines.includes('is asked for everything') ||
        !lines.includes('Asking only for what changed');
      const [, collected] = /completed: (\d+) resource/.exec(lines) ?? [];
      return { ...rest, lines, isWhole, collected: Number(collected) };
    };

    test('asks for everything, because $everything ignores the time', async () => {
      const ours = named('Ida', 'Everything', '1981-01-01');
      await put(
        patient('ev', {
          name: [{ family: 'Everything', given: ['Ida'] }],
          birthDate: ours.dob,
        }),
      );
      await put(observation('ev-1', 'ev'));
      const patientId = await addPatient(ours);
      expect((await ask(patientId, patience)).failure).toBeUndefined();
      await aDayLater(patientId);
      await put(observation('ev-2', 'ev'));
      const second = await askTomorrow(patientId);
      expect(second).toMatchObject({ isWhole: true, collected: 3 });
      expect(second.lines).not.toContain('Asking only');
      expect(proxy.asked.filter((path) => path.includes('_since'))).not.toEqual(
        [],
      );
    });

    test('of a server without $everything asks only for what is new, and notices what was deleted or moved', async () => {
      const noEverything = (path: string) =>
        path.includes('$everything') ? { status: 404 } : undefined;
      proxy.answer(noEverything);
      const ours = named('Joe', 'Searches', '1982-01-01');
      await put(
        patient('se', {
          name: [{ family: 'Searches', given: ['Joe'] }],
          birthDate: ours.dob,
        }),
      );
      await put(
        patient('other', {
          name: [{ family: 'Other', given: ['Joe'] }],
          birthDate: '1950-01-01',
        }),
      );
      await put({
        resourceType: 'Practitioner',
        id: 'se-doc',
        name: [{ text: 'Dr. Before' }],
      });
      const old = Array.from({ length: 20 }, (_, n) =>
        observation(`se-${n}`, 'se'),
      );
      await putAll(old);
      await put({
        ...observation('se-by', 'se'),
        performer: [{ reference: 'Practitioner/se-doc' }],
      });
      const patientId = await addPatient(ours);
      const first = await ask(patientId, patience);
      expect(first.names).toHaveLength(23);

      await aDayLater(patientId);
      await put(observation('se-new', 'se'));
      await put(observation('se-0', 'se', 'corrected'));
      await put({
        resourceType: 'Practitioner',
        id: 'se-doc',
        name: [{ text: 'Dr. After' }],
      });
      const second = await askTomorrow(patientId);
      expect(second).toMatchObject({ isWhole: false, collected: 3 });
      expect(second.names).toEqual(
        [...first.names, 'Observation/se-new'].sort(),
      );
      expect(
        first.hashes.filter((hash) => !second.hashes.includes(hash)),
      ).toHaveLength(2);

      for (const change of [
        () => hapi.call('DELETE', 'Observation/se-1'),
        () => put(observation('se-2', 'other')),
      ]) {
        await aDayLater(patientId);
        await change();
        const third = await askTomorrow(patientId);
        expect(third.isWhole).toBe(true);
        expect(third.lines).toContain(
          'counts other numbers of resources than the record has',
        );
        expect(third.lines).toContain('it was retired (1 Observation)');
      }
      const last = await askTomorrow(patientId);
      expect(last.names).toEqual(
        second.names.filter((name) => !/se-[12]$/.test(name)),
      );
    });
  });

  // The last one, because it stops the server.
  test('a server that is stopped in the middle and started again loses nothing', async () => {
    const ours = named('Hal', 'Restart', '1980-01-01');
    await put(
      patient('restart', {
        name: [{ family: 'Restart', given: ['Hal'] }],
        birthDate: ours.dob,
      }),
    );
    await putAll(
      Array.from({ length: 100 }, (_, n) =>
        observation(`restart-${n}`, 'restart'),
      ),
    );
    let pages = 0;
    proxy.answer((path) => {
      if (path.includes('_getpages')) pages += 1;
      return pages > 2 ? { status: 502 } : undefined;
    });
    const patientId = await addPatient(ours);
    const config = { pageSize: 20 };
    const broken = await ask(patientId, config);
    expect(broken.failure).toBeDefined();
    const stored = broken.names.length;
    expect(stored).toBeGreaterThan(20);
    await hapi.stop();
    proxy.answer(() => undefined);
    const down = await ask(patientId, config, broken.requestId);
    expect(down.told.at(-1)).toMatch(/refused or dropped the connection/);
    await hapi.start();
    proxy.asked.length = 0;
    const resumed = await ask(patientId, config, broken.requestId);
    expect(resumed.failure).toBeUndefined();
    expect(resumed.names).toHaveLength(101);
    // It continues after the last stored page.
    expect(proxy.asked.filter((path) => path.includes('$everything'))).toEqual(
      [],
    );
  });
});
