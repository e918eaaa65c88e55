import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const create = (body: unknown) =>
  account.call('POST', `patient?facilityId=${account.facilityId}`, body);
const addressIn = (zip: string) => ({
  addressLine1: '7 Elm Street',
  city: 'Springfield',
  state: 'MA',
  zip,
});
const newCohort = async (name: string, purposeOfUse = 'treatment') =>
  (await account.call('POST', 'cohort', { name, purposeOfUse })).json();
const cohortsOf = async (patientId: string) => {
  const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
    sql<{
      cohort_id: string;
    }>`select cohort_id from cohort_member where patient_id = ${patientId}`.execute(
      tx.db,
    ),
  );
  return rows.map((row) => row.cohort_id);
};

describe('create patient', () => {
  test('answers 201 with what was sent, normalised, and an eTag', async () => {
    const answer = await create({
      ...newPerson(),
      firstName: ' Ana-María,de ',
      contact: { email: 'ana.maria+x@example.org' },
      externalId: 'ext-1',
    });
    expect(answer.statusCode).toBe(201);
    const patient = answer.json();
    expect(patient).toMatchObject({
      firstName: ['Ana-María', 'de'],
      externalId: 'ext-1',
      address: [{ state: 'MA', country: 'USA' }],
      contact: [{ email: 'ana.maria+x@example.org' }],
      personalIdentifiers: [],
      additionalIdentifiers: {},
      additionalIds: {},
      facilityIds: [account.facilityId],
      status: { hieOptOut: false, treatmentRelationship: true },
    });
    expect(answer.headers.etag).toBe(`"${patient.eTag}"`);
    expect((await account.call('GET', `patient/${patient.id}`)).json()).toEqual(
      patient,
    );
  });

  test('answers 200 for a person with the same names, birth date, gender and one zip, and adds what is new', async () => {
    const person = newPerson({
      address: [addressIn('01101'), addressIn('01102')],
      contact: [{ phone: '4135550100' }],
      personalIdentifiers: [{ type: 'ssn', value: '512345671' }],
      externalId: 'first',
    });
    const first = (await create(person)).json();
    const again = await create({
      ...person,
      firstName: [person.firstName.toUpperCase()],
      lastName: `  ${person.lastName.toLowerCase()} `,
      address: [
        addressIn('01103'),
        { ...addressIn('01102-1234'), addressLine1: 'Other Street' },
      ],
      contact: [{ email: 'new@example.org' }, { phone: '4135550100' }],
      personalIdentifiers: [
        { type: 'driversLicense', state: 'ma', value: 'S1' },
      ],
      externalId: undefined,
    });
    expect(again.statusCode).toBe(200);
    const merged = again.json();
    expect(merged.id).toBe(first.id);
    expect(merged.firstName).toEqual([person.firstName]);
    expect(merged.address.map(({ zip }: { zip: string }) => zip)).toEqual([
      '01103',
      '01102-1234',
      '01101',
      '01102',
    ]);
    expect(merged.contact).toEqual([
      { email: 'new@example.org' },
      { phone: '4135550100' },
    ]);
    expect(
      merged.personalIdentifiers.map(({ type }: { type: string }) => type),
    ).toEqual(['ssn', 'driversLicense']);
    expect(merged.externalId).toBe('first');
    expect(merged.eTag).not.toBe(first.eTag);
    // The new zip finds the person from now on.
    expect(
      (await create({ ...person, address: [addressIn('01103')] })).json().id,
    ).toBe(first.id);
  });

  test('keeps every external id findable, names the one that it replaced, and what else it replaced', async () => {
    const person = newPerson({ externalId: 'ehr "7\\7"' });
    const { id } = (await create(person)).json();
    const [panel, form] = [
      await create({
        ...person,
        externalId: 'panel-7',
        status: { hieOptOut: true },
      }),
      await create({
        ...person,
        externalId: 'form-7',
        address: [
          {
            ...addressIn(person.address[0]?.zip ?? ''),
            addressLine1: '8 Elm Street',
          },
        ],
      }),
    ].map((answer) => answer.json());
    expect(panel).toMatchObject({
      id,
      externalId: 'panel-7',
      externalIds: ['panel-7', 'ehr "7\\7"'],
    });
    expect(panel.replaced).toEqual({
      externalId: 'ehr "7\\7"',
      hieOptOut: false,
    });
    expect(form.externalIds).toEqual(['form-7', 'panel-7', 'ehr "7\\7"']);
    expect(form.replaced).toEqual({
      externalId: 'panel-7',
      primaryAddress: panel.address[0],
    });
    for (const externalId of form.externalIds) {
      const asked = new URLSearchParams({ externalId });
      const found = (
        await account.call('GET', `patient/external-id?${asked}`)
      ).json();
      expect([externalId, found.id]).toEqual([externalId, id]);
      const listed = (await account.call('GET', `patient?${asked}`)).json();
      expect(listed.patients.map((each: { id: string }) => each.id)).toEqual([
        id,
      ]);
    }
    const words = (await account.call('GET', 'patient?filters=PANEL-7')).json();
    expect(words.patients.map((each: { id: string }) => each.id)).toEqual([id]);

    // A former id that comes back is the current one again, and no id is kept
    // twice.
    const back = (await create({ ...person, externalId: 'panel-7' })).json();
    expect(back.externalIds).toEqual(['panel-7', 'form-7', 'ehr "7\\7"']);
    // Who has an id now is found before who had it.
    const other = (await create(newPerson({ externalId: 'form-7' }))).json();
    const holder = (
      await account.call('GET', 'patient/external-id?externalId=form-7')
    ).json();
    expect(holder.id).toBe(other.id);
  });

  test('an update keeps the other external ids unless it lists them, and removes all if it has none', async () => {
    const person = newPerson({ externalId: 'one' });
    const { id } = (await create(person)).json();
    await create({ ...person, externalId: 'two' });
    const put = async (change: object) =>
      (
        await account.call('PUT', `patient/${id}`, { ...person, ...change })
      ).json().externalIds;
    expect(await put({ externalId: 'three' })).toEqual(['three', 'two', 'one']);
    expect(
      await put({ externalId: 'three', externalIds: ['one', 'three'] }),
    ).toEqual(['three', 'one']);
    expect(
      (await account.call('GET', 'patient/external-id?externalId=two'))
        .statusCode,
    ).toBe(404);
    expect(await put({ externalId: undefined })).toEqual([]);
    expect(
      (await account.call('GET', 'patient/external-id?externalId=one'))
        .statusCode,
    ).toBe(404);
  });

  test('keeps the eTag when the same is sent again', async () => {
    const person = newPerson();
    const first = await create(person);
    const again = await create(person);
    expect(again.json()).toEqual(first.json());
  });

  test.each([
    ['dob', { dob: '1980-04-06' }],
    ['gender', { genderAtBirth: 'M' }],
    ['first names in another order', { firstName: 'Second First' }],
    ['zip', { address: [addressIn('02109')] }],
  ])('makes another patient when the %s differs', async (_what, change) => {
    const person = newPerson({ firstName: 'First Second' });
    const first = await create(person);
    const other = await create({ ...person, ...change });
    expect(other.statusCode).toBe(201);
    expect(other.json().id).not.toBe(first.json().id);
  });

  test('takes the oldest patient when the zips point to several', async () => {
    const person = newPerson();
    const older = (
      await create({ ...person, address: [addressIn('01201')] })
    ).json();
    await create({ ...person, address: [addressIn('01202')] });
    const both = await create({
      ...person,
      address: [addressIn('01202'), addressIn('01201')],
    });
    expect([both.statusCode, both.json().id]).toEqual([200, older.id]);
  });

  test('makes one patient of 50 simultaneous requests for one person', async () => {
    const person = newPerson();
    const zips = ['01301', '01302', '01303'];
    /**
     * A starved gateway may refuse with 503 and Retry-After: nothing was done,
     * and the request is sent again.
     */
    const createOnceServed = async (
      body: object,
    ): ReturnType<typeof create> => {
      const answer = await create(body);
      return answer.statusCode === 503 ? createOnceServed(body) : answer;
    };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        createOnceServed({
          ...person,
          address: [addressIn(zips[index % 3] ?? ''), addressIn('01300')],
        }),
      ),
    );
    expect(answers.map((a) => a.statusCode).sort()).toEqual([
      ...Array(49).fill(200),
      201,
    ]);
    expect(new Set(answers.map((a) => a.json().id)).size).toBe(1);
    const { id } = answers[0]?.json() ?? {};
    const patient = (await account.call('GET', `patient/${id}`)).json();
    expect(
      patient.address.map(({ zip }: { zip: string }) => zip).sort(),
    ).toEqual(['01300', ...zips]);
  });

  test('answers 404 for an unknown facility and creates nothing', async () => {
    const unknown = '0198a000-0000-7000-8000-000000000000';
    const person = newPerson();
    expect(
      (await account.call('POST', `patient?facilityId=${unknown}`, person))
        .statusCode,
    ).toBe(404);
    expect((await create(person)).statusCode).toBe(201);
  });

  test('starts a network query and reports which sources could not start', async () => {
    const limited = await gateway.addAccount({
      settings: { sources: { hie: { enabled: true } } },
    });
    const answer = await limited.call(
      'POST',
      `patient?facilityId=${limited.facilityId}`,
      newPerson({
        networkQuery: {
          sources: { hie: { enabled: true }, lab: { enabled: true } },
        },
      }),
    );
    expect(answer.statusCode).toBe(201);
    const { networkQuery, id } = answer.json();
    expect(networkQuery).toMatchObject({
      patientId: id,
      status: 'processing',
      sources: [{ type: 'hie', status: 'processing' }],
      errors: [{ source: 'lab', httpStatus: 400 }],
    });
    expect(gateway.launched).toContain(networkQuery.requestId);
  });

  test('does not query hie for a patient who opted out', async () => {
    const body = newPerson({
      status: { hieOptOut: true },
      networkQuery: { sources: ['hie', 'pharmacy'] },
    });
    const { networkQuery } = (await create(body)).json();
    expect(
      networkQuery.sources.map(({ type }: { type: string }) => type),
    ).toEqual(['pharmacy']);
    expect(networkQuery.errors).toMatchObject([
      { source: 'hie', httpStatus: 400 },
    ]);
  });
});

describe('consent', () => {
  test('bars from treatment cohorts: 400 naming the cohort, and nothing is done', async () => {
    const treatment = await newCohort('T1');
    const operations = await newCohort('O1', 'operations');
    const person = newPerson({ status: { treatmentRelationship: false } });
    const refused = await create({
      ...person,
      cohorts: [operations.id, treatment.id],
    });
    expect(refused.statusCode).toBe(400);
    expect(
      refused.json().errors.map(({ path }: { path: string }) => path),
    ).toEqual(['cohorts[1]']);
    const accepted = await create({ ...person, cohorts: [operations.id] });
    expect(accepted.statusCode).toBe(201);
    const { id } = accepted.json();
    const later = await account.call('POST', `patient/${id}/cohort`, {
      cohortIds: [treatment.id],
    });
    expect(later.statusCode).toBe(400);
    expect(await cohortsOf(id)).toEqual([operations.id]);
  });

  test('withdrawn, by PUT or by a matching create, ends treatment cohorts at once', async () => {
    const treatment = await newCohort('T2');
    const operations = await newCohort('O2', 'operations');
    const withdraw = { status: { treatmentRelationship: false } };
    for (const change of [
      (id: string, person: object) =>
        account.call('PUT', `patient/${id}`, { ...person, ...withdraw }),
      (_id: string, person: object) => create({ ...person, ...withdraw }),
    ]) {
      const person = newPerson();
      const { id } = (
        await create({ ...person, cohorts: [treatment.id, operations.id] })
      ).json();
      expect(await cohortsOf(id)).toHaveLength(2);
      const answer = await change(id, person);
      expect(answer.json().status.treatmentRelationship).toBe(false);
      expect(await cohortsOf(id)).toEqual([operations.id]);
    }
  });

  test('and an assignment at the same time never leave the patient in a treatment cohort', async () => {
    const cohort = await newCohort('T3');
    for (let round = 0; round < 10; round += 1) {
      const person = newPerson();
      const { id } = (await create(person)).json();
      await Promise.all([
        account.call('POST', `patient/${id}/cohort`, {
          cohortIds: [cohort.id],
        }),
        account.call('PUT', `patient/${id}`, {
          ...person,
          status: { treatmentRelationship: false },
        }),
      ]);
      expect(await cohortsOf(id)).toEqual([]);
    }
  });

  test('names an unknown cohort', async () => {
    const unknown = '0198a000-0000-7000-8000-000000000000';
    const answer = await create(newPerson({ cohorts: [unknown] }));
    expect([answer.statusCode, answer.json().errors[0].path]).toEqual([
      400,
      'cohorts[0]',
    ]);
    expect(answer.json().detail).toContain(unknown);
  });
});

describe('additional identifiers', () => {
  const read = async (id: string) =>
    (await account.call('GET', `patient/${id}`)).json();

  test('are united on a match; what is known already changes nothing', async () => {
    // Nobody else is born on this day, so no answer names a possible duplicate.
    const person = newPerson({
      dob: '1961-02-28',
      additionalIdentifiers: { quest: ['q-1'] },
    });
    const first = (await create(person)).json();
    expect(
      (await create({ ...person, additionalIdentifiers: undefined })).json(),
    ).toEqual(first);
    expect(
      (
        await create({ ...person, additionalIdentifiers: { quest: [' q-1 '] } })
      ).json(),
    ).toEqual(first);
    const merged = await create({
      ...person,
      additionalIdentifiers: {
        quest: ['Q-1', 'q-1'],
        elation: ['7'],
        canvas: [],
      },
    });
    expect(merged.statusCode).toBe(200);
    expect(merged.json()).toMatchObject({
      id: first.id,
      additionalIdentifiers: { quest: ['q-1', 'Q-1'], elation: ['7'] },
    });
    expect(merged.json().additionalIdentifiers).not.toHaveProperty('canvas');
    expect(merged.json().eTag).not.toBe(first.eTag);
    expect(await read(first.id)).toEqual(merged.json());
  });

  test('are replaced by an update, removed by an update without them, and kept when a flag changes', async () => {
    const person = newPerson({
      additionalIdentifiers: { quest: ['q-1'], elation: ['7'] },
    });
    const { id, eTag } = (await create(person)).json();
    const put = async (additionalIdentifiers?: unknown) =>
      (
        await account.call('PUT', `patient/${id}`, {
          ...person,
          additionalIdentifiers,
        })
      ).json();
    expect((await put({ elation: ['7', '7'], quest: ['q-1'] })).eTag).toBe(
      eTag,
    );
    const replaced = await put({ quest: ['q-2'] });
    expect(replaced).toMatchObject({
      additionalIdentifiers: { quest: ['q-2'] },
      additionalIds: { quest: ['q-2'] },
    });
    expect(replaced.eTag).not.toBe(eTag);
    await account.call('PUT', `patient/${id}/hie-opt-out?hieOptOut=true`);
    expect((await read(id)).additionalIdentifiers).toEqual({ quest: ['q-2'] });
    expect((await put()).additionalIdentifiers).toEqual({});
  });
});

describe('list patients with filters', () => {
  const found = async (filters: string, more = '') => {
    const answer = await account.call(
      'GET',
      `patient?filters=${encodeURIComponent(filters)}${more}`,
    );
    expect(answer.statusCode).toBe(200);
    return answer.json();
  };

  test('finds the patients in whose data all words occur, anywhere and in any case', async () => {
    const make = async (changes: object) =>
      (
        await create(
          newPerson({ firstName: 'Élodie', lastName: 'Searched', ...changes }),
        )
      ).json().id;
    const address = [
      {
        addressLine1: '7 Maple_Court',
        city: 'Worcester',
        state: 'MA',
        zip: '01608',
      },
    ];
    const known = await make({
      externalId: 'chart-("7\\7")',
      address,
      contact: [{ phone: '5085550188', email: 'elodie@example.org' }],
      personalIdentifiers: [
        { type: 'driversLicense', state: 'MA', value: 'S7654321' },
      ],
      additionalIdentifiers: { athenahealth: ['a-1959.E-10447'] },
      dob: '1977-07-07',
    });
    const other = await make({ dob: '1978-08-08' });
    const ids = async (filters: string) =>
      (await found(filters)).patients.map(({ id }: { id: string }) => id);
    for (const word of [
      '1977-07',
      'chart-("7\\7")',
      's7654321',
      'A-1959.e-10447',
      '5550188',
      'ELODIE@',
      'worcester',
      '01608',
      'maple_c',
    ])
      expect(await ids(`searched ${word}`), word).toEqual([known]);
    expect(await ids('ÉLODIE  SEARCHED')).toEqual([other, known]);
    expect(await ids('searched 1977 boston')).toEqual([]);
    for (const none of [
      'searched %',
      'searched .*',
      'searched addressLine1',
      'searched driversLicense',
      'searched athenahealth',
    ])
      expect(await ids(none), none).toEqual([]);
  });

  test('counts what they let through, and keeps them from page to page', async () => {
    const page = await found('searched', '&count=1');
    expect(page.meta.itemsInTotal).toBe(2);
    expect(new URL(page.meta.nextPage).searchParams.get('filters')).toBe(
      'searched',
    );
    expect((await found(' ')).meta.itemsInTotal).toBeGreaterThan(2);
  });
});

describe('update patient', () => {
  test('replaces the demographics; the order of addresses is the caller’s', async () => {
    const person = newPerson({
      address: [addressIn('01401'), addressIn('01402')],
      contact: [{ phone: '4135550100' }],
    });
    const { id, eTag } = (await create(person)).json();
    const answer = await account.call(
      'PUT',
      `patient/${id}`,
      {
        ...person,
        lastName: 'Newname',
        address: [addressIn('01402'), addressIn('01401')],
        contact: [],
      },
      { 'if-match': `W/"${eTag}"` },
    );
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({
      id,
      lastName: ['Newname'],
      contact: [],
    });
    expect(answer.json().address[0].zip).toBe('01402');
    // Found by the new name, no longer by the old one.
    expect((await create({ ...person, lastName: 'Newname' })).json().id).toBe(
      id,
    );
    expect((await create(person)).statusCode).toBe(201);
  });

  test('answers 412 for an eTag that is no longer true, in the header or in the body', async () => {
    const person = newPerson();
    const { id, eTag } = (await create(person)).json();
    const change = { ...person, externalId: 'x' };
    expect(
      (await account.call('PUT', `patient/${id}`, { ...change, eTag }))
        .statusCode,
    ).toBe(200);
    const stale = await account.call('PUT', `patient/${id}`, {
      ...person,
      eTag,
    });
    expect([stale.statusCode, stale.json().name]).toEqual([
      412,
      'PRECONDITION_FAILED',
    ]);
    const header = await account.call('PUT', `patient/${id}`, person, {
      'if-match': `"${eTag}"`,
    });
    expect(header.statusCode).toBe(412);
    const any = await account.call('PUT', `patient/${id}`, person, {
      'if-match': '*',
    });
    expect(any.statusCode).toBe(200);
  });

  test('answers 409 when another patient has these demographics, and changes nothing', async () => {
    const one = newPerson();
    const other = newPerson();
    await create(one);
    const { id, eTag } = (await create(other)).json();
    expect((await account.call('PUT', `patient/${id}`, one)).statusCode).toBe(
      409,
    );
    expect((await account.call('GET', `patient/${id}`)).json().eTag).toBe(eTag);
  });

  test('and simultaneous creates of the same person end with one patient for that person', async () => {
    for (let round = 0; round < 10; round += 1) {
      const before = newPerson();
      const after = newPerson();
      const { id } = (await create(before)).json();
      const answers = await Promise.all([
        account.call('PUT', `patient/${id}`, after),
        create(after),
        account.call('PUT', `patient/${id}`, after),
        create(after),
      ]);
      expect(
        answers.every(({ statusCode }) => [200, 201, 409].includes(statusCode)),
      ).toBe(true);
      const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
        sql`select id from patient where last_names = ${[after.lastName]}`.execute(
          tx.db,
        ),
      );
      expect(rows).toHaveLength(1);
    }
  });
});

describe('the dialect "published"', () => {
  test('joins names and calls running sources processing in E3, one entry per type', async () => {
    const published = await gateway.addAccount({ dialect: 'published' });
    const patient = (
      await published.call(
        'POST',
        `patient?facilityId=${published.facilityId}`,
        newPerson({
          firstName: 'Mary Ann',
          networkQuery: { sources: ['lab'] },
        }),
      )
    ).json();
    expect(patient.firstName).toBe('Mary Ann');
    const { requestId } = patient.networkQuery;
    await gateway.store.asAccount(published.accountId, async (tx) => {
      await sql`update network_query_attempt set status = 'failed', completed_at = now()`.execute(
        tx.db,
      );
      await sql`insert into network_query_attempt (query_id, source, attempt, run, account_id, status)
                values (${requestId}, 'lab', 2, 0, ${published.accountId}, 'running')`.execute(
        tx.db,
      );
    });
    const query = (
      await published.call('GET', `network/query/${requestId}`)
    ).json();
    expect([
      query.status,
      query.sources.length,
      query.sources[0].status,
    ]).toEqual(['processing', 1, 'processing']);
  });
});
