import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

const UNKNOWN = '0198a000-0000-7000-8000-000000000000';
let gateway: TestGateway;
let account: TestAccount;
/** Who has cohorts and patients of their own. */
let other: TestAccount;
const changed: string[] = [];
beforeAll(async () => {
  gateway = await createTestGateway({
    cohortSchedules: {
      cohortChanged: (accountId, cohortId) =>
        void changed.push(`${accountId} ${cohortId}`),
    },
  });
  [account, other] = [await gateway.addAccount(), await gateway.addAccount()];
});
afterAll(() => gateway.close());

let names = 0;
async function addCohort(body: Record<string, unknown> = {}, owner = account) {
  names += 1;
  return (
    await owner.call('POST', 'cohort', { name: `Cohort ${names}`, ...body })
  ).json();
}
async function addPatient(
  changes: Record<string, unknown> = {},
  owner = account,
): Promise<string> {
  const answer = await owner.call(
    'POST',
    `patient?facilityId=${owner.facilityId}`,
    newPerson(changes),
  );
  return answer.json().id;
}
const WITHOUT_TREATMENT = { status: { treatmentRelationship: false } };
const read = async (id: string) =>
  (await account.call('GET', `cohort/${id}`)).json();
const membersOf = async (id: string): Promise<string[]> =>
  (await account.call('GET', `cohort/${id}/patient`))
    .json()
    .patients.map((item: { id: string }) => item.id);
async function expectError(
  answer: ReturnType<TestAccount['call']>,
  status: number,
  detail: string | RegExp,
) {
  const { statusCode, json } = await answer;
  expect([statusCode, json().detail]).toEqual([
    status,
    typeof detail === 'string' ? detail : expect.stringMatching(detail),
  ]);
}

describe('a cohort', () => {
  test('is read with its eTag, in body and header', async () => {
    const cohort = await addCohort({ description: 'D', color: 'red' });
    const answer = await account.call('GET', `cohort/${cohort.id}`);
    expect([answer.statusCode, answer.json()]).toEqual([200, cohort]);
    expect(answer.headers.etag).toBe(`"${cohort.eTag}"`);
  });

  test.each(['PATCH', 'PUT'] as const)(
    'is changed by %s in what the body names',
    async (method) => {
      const settings = {
        monitoring: { hie: { enabled: true, frequency: 'weekly' } },
      };
      const cohort = await addCohort({ description: 'D', settings });
      const change = {
        color: 'blue',
        settings: { monitoring: { hie: { frequency: 'biweekly' } } },
      };
      const answer = await account.call(method, `cohort/${cohort.id}`, change, {
        'if-match': cohort.eTag,
      });
      expect(answer.statusCode).toBe(200);
      expect(answer.json()).toEqual({
        ...cohort,
        color: 'blue',
        eTag: expect.not.stringMatching(cohort.eTag),
        settings: {
          monitoring: {
            ...cohort.settings.monitoring,
            hie: { enabled: true, frequency: 'biweekly' },
          },
        },
      });
      expect(await read(cohort.id)).toEqual(answer.json());
      expect(changed.slice(-2)).toEqual(
        [1, 2].map(() => `${account.accountId} ${cohort.id}`),
      );
    },
  );

  test('keeps its eTag when a change makes no difference, and when patients come and go', async () => {
    const cohort = await addCohort();
    await account.call('PATCH', `cohort/${cohort.id}`, {
      name: cohort.name,
      settings: {},
    });
    await account.call('POST', `cohort/${cohort.id}/patient`, {
      patientIds: [await addPatient()],
    });
    expect(await read(cohort.id)).toEqual({ ...cohort, size: 1 });
  });

  test('that changed since its eTag was seen is neither changed nor deleted', async () => {
    const { id, eTag } = await addCohort();
    await account.call('PATCH', `cohort/${id}`, { description: 'new' });
    const detail = /has changed since this eTag/;
    await expectError(
      account.call(
        'PATCH',
        `cohort/${id}`,
        { color: 'red' },
        { 'if-match': eTag },
      ),
      412,
      detail,
    );
    await expectError(
      account.call('PUT', `cohort/${id}`, { color: 'red', eTag }),
      412,
      detail,
    );
    await expectError(
      account.call('DELETE', `cohort/${id}`, undefined, {
        'if-match': `"${eTag}"`,
      }),
      412,
      detail,
    );
    expect(await read(id)).toMatchObject({
      description: 'new',
      color: 'white',
    });
  });

  test.each([
    [{ name: ' ' }, 'name: name is required'],
    [{ color: 'mauve' }, /^color: color must be one of red, /],
    [{ purposeOfUse: 'research' }, /^purposeOfUse: /],
    [
      { settings: { monitoring: { hie: { enabled: 'yes' } } } },
      /^settings\.monitoring\.hie\.enabled: /,
    ],
    [
      { settings: { monitoring: { hie: { frequency: 'daily' } } } },
      /^settings\.monitoring\.hie\.frequency: /,
    ],
    [
      { settings: { monitoring: { adt: { enable: true } } } },
      'settings.monitoring.adt: unknown member enable; did you mean enabled?',
    ],
    [
      { settings: { adt: { enabled: true } } },
      'settings: unknown member adt; did you mean monitoring.adt?',
    ],
    [
      { settings: { colour: 'red' } },
      'settings: unknown member colour; the members are monitoring',
    ],
    [
      { monitoring: { adt: { enabled: true } } },
      'unknown member monitoring; did you mean settings.monitoring?',
    ],
    [
      { adt: { enabled: true } },
      'unknown member adt; did you mean settings.monitoring.adt?',
    ],
    [
      { Setting: {}, colour: 'red' },
      /^unknown member Setting; did you mean settings\?; unknown member colour; /,
    ],
  ])('does not take %o', async (change, detail) => {
    const { id } = await addCohort();
    await expectError(
      account.call('PATCH', `cohort/${id}`, change),
      400,
      detail,
    );
    if (!('name' in change))
      await expectError(
        account.call('POST', 'cohort', { name: 'New', ...change }),
        400,
        detail,
      );
  });

  test('ignores members that resemble none of its own', async () => {
    const { id, eTag } = await addCohort({ note: 'of the sender', size: 7 });
    const same = await account.call('PATCH', `cohort/${id}`, {
      id: 'theirs',
      createdBy: 'the sender',
    });
    expect(same.json()).toMatchObject({ id, eTag, size: 0 });
  });

  test('ignores misspelt members, too, in the dialect "published"', async () => {
    const owner = await gateway.addAccount({ dialect: 'published' });
    const { id } = await addCohort(
      { monitoring: { adt: { enabled: true } }, colour: 'red' },
      owner,
    );
    const same = await owner.call('PATCH', `cohort/${id}`, {
      adt: { enabled: true },
      color: 'red',
    });
    expect(same.json()).toMatchObject({
      color: 'red',
      settings: { monitoring: { adt: { enabled: false } } },
    });
  });

  test('takes its own answer back as an update', async () => {
    const cohort = await addCohort({
      settings: { monitoring: { adt: { enabled: true } } },
    });
    expect(
      (await account.call('PUT', `cohort/${cohort.id}`, cohort)).statusCode,
    ).toBe(200);
  });

  test('takes no name that another one has, except one of another account', async () => {
    const first = await addCohort();
    const second = await addCohort();
    const body = { name: first.name };
    await expectError(
      account.call('PATCH', `cohort/${second.id}`, body),
      400,
      'name: another cohort has this name',
    );
    expect(await read(second.id)).toEqual(second);
    await addCohort({ name: 'Café' });
    const composedOtherwise = account.call('POST', 'cohort', {
      name: 'Cafe\u0301',
    });
    await expectError(
      composedOtherwise,
      400,
      'name: another cohort has this name',
    );
    await addCohort({ name: 'Theirs' }, other);
    expect(
      (await account.call('PATCH', `cohort/${second.id}`, { name: 'Theirs' }))
        .statusCode,
    ).toBe(200);
  });

  test('is deleted when it is empty, with 204 and no body', async () => {
    const { id, eTag } = await addCohort();
    changed.length = 0;
    const answer = await account.call('DELETE', `cohort/${id}`, undefined, {
      'if-match': `"${eTag}"`,
    });
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
    expect(changed).toEqual([`${account.accountId} ${id}`]);
    await expectError(
      account.call('GET', `cohort/${id}`),
      404,
      'Cohort not found',
    );
    await expectError(
      account.call('DELETE', `cohort/${id}`),
      404,
      'Cohort not found',
    );
  });

  test('with patients is not deleted, and its schedules hear nothing', async () => {
    const { id } = await addCohort();
    await account.call('POST', `cohort/${id}/patient`, {
      patientIds: [await addPatient()],
    });
    changed.length = 0;
    await expectError(
      account.call('DELETE', `cohort/${id}`),
      400,
      /still has 1 patient; remove them first/,
    );
    expect(changed).toEqual([]);
    await account.call('DELETE', `cohort/${id}/patient`, { allPatients: true });
    expect((await account.call('DELETE', `cohort/${id}`)).statusCode).toBe(204);
  });

  test('of another account is not there, whatever is done to it', async () => {
    const { id } = await addCohort({}, other);
    const theirs = await addPatient({}, other);
    await other.call('POST', `cohort/${id}/patient`, { patientIds: [theirs] });
    const own = await addPatient();
    const cohort = await addCohort();
    for (const [method, url, body] of [
      ['GET', `cohort/${id}`, undefined],
      ['PATCH', `cohort/${id}`, { color: 'red' }],
      ['PUT', `cohort/${id}`, { color: 'red' }],
      ['DELETE', `cohort/${id}`, undefined],
      ['GET', `cohort/${id}/patient`, undefined],
      ['POST', `cohort/${id}/patient`, { patientIds: [own] }],
      ['POST', `cohort/${id}/patient`, { allPatients: true }],
      ['DELETE', `cohort/${id}/patient`, { allPatients: true }],
    ] as const) {
      await expectError(
        account.call(method, url, body),
        404,
        'Cohort not found',
      );
    }
    await expectError(
      account.call('POST', `patient/${own}/cohort`, { cohortIds: [id] }),
      404,
      `Cohort ${id} not found`,
    );
    await expectError(
      account.call('GET', `patient/${theirs}/cohort`),
      404,
      'Patient not found',
    );
    const strange = { patientIds: [own, theirs] };
    await expectError(
      account.call('POST', `cohort/${cohort.id}/patient`, strange),
      404,
      `Patient ${theirs} not found`,
    );
    expect(await membersOf(cohort.id)).toEqual([]);
    expect((await other.call('GET', `cohort/${id}`)).json().size).toBe(1);
  });
});

describe('patients of a cohort', () => {
  test('are added by id, once each, and returned with their cohorts', async () => {
    const { id } = await addCohort();
    const a = await addPatient();
    const b = await addPatient();
    const first = await account.call('POST', `cohort/${id}/patient`, {
      patientIds: [a],
    });
    expect([first.statusCode, first.json()]).toEqual([
      200,
      { message: '1 patient added to the cohort', cohort: await read(id) },
    ]);
    const second = await account.call('POST', `cohort/${id}/patient`, {
      patientIds: [a, b, b.toUpperCase()],
    });
    expect(second.json()).toMatchObject({
      message: '1 patient added to the cohort; 1 was already in it',
      cohort: { size: 2 },
    });
    expect(await membersOf(id)).toEqual([a, b].sort());
    expect((await account.call('GET', `patient/${b}/cohort`)).json()).toEqual({
      cohorts: [await read(id)],
    });
    const skipped = await account.call('POST', `patient/${b}/cohort`, {
      cohortIds: [id],
    });
    expect([skipped.statusCode, skipped.json()]).toEqual([
      200,
      { cohorts: [await read(id)] },
    ]);
  });

  test('are removed by id; ids of others are ignored and counted', async () => {
    const { id } = await addCohort();
    const a = await addPatient();
    const b = await addPatient();
    await account.call('POST', `cohort/${id}/patient`, { patientIds: [a, b] });
    const answer = await account.call('DELETE', `cohort/${id}/patient`, {
      patientIds: [a, UNKNOWN],
    });
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      {
        message: '1 patient removed from the cohort; 1 was not in it',
        cohort: await read(id),
      },
    ]);
    expect(await membersOf(id)).toEqual([b]);
  });

  const ids = [UNKNOWN];
  test.each([
    [{}, /exactly one of patientIds and allPatients is required/],
    [
      { patientIds: ids, allPatients: true },
      /exactly one of patientIds and allPatients is required/,
    ],
    [{ allPatients: false }, /^allPatients: allPatients must be true/],
    [{ patientIds: ids, allPatients: false }, /^allPatients: /],
    [{ allPatients: 'true' }, /^allPatients: /],
    [{ patientIds: [] }, 'patientIds: patientIds must contain at least one id'],
    [
      { patientIds: UNKNOWN },
      'patientIds: patientIds must be a list of patient ids',
    ],
    [{ patientIds: ['x'] }, 'patientIds[0]: expected a UUID'],
    [
      { patientIds: Array(5001).fill(UNKNOWN) },
      'patientIds: patientIds must contain at most 5000 ids',
    ],
    [undefined, 'a JSON body is required'],
  ])('are neither added nor removed by %o', async (body, detail) => {
    const { id } = await addCohort();
    for (const method of ['POST', 'DELETE'] as const) {
      await expectError(
        account.call(method, `cohort/${id}/patient`, body),
        400,
        detail,
      );
    }
  });

  test('are all added, and all removed', async () => {
    const owner = await gateway.addAccount();
    const { id } = await addCohort({ purposeOfUse: 'operations' }, owner);
    const all = [
      await addPatient({}, owner),
      await addPatient(WITHOUT_TREATMENT, owner),
    ];
    await owner.call('POST', `cohort/${id}/patient`, { patientIds: [all[0]] });
    const added = (
      await owner.call('POST', `cohort/${id}/patient`, { allPatients: true })
    ).json();
    expect(added).toMatchObject({
      message: '1 patient added to the cohort',
      cohort: { size: 2 },
      skipped: { total: 0, patientIds: [] },
    });
    const removed = await owner.call('DELETE', `cohort/${id}/patient`, {
      allPatients: true,
    });
    expect(removed.json()).toMatchObject({
      message: '2 patients removed from the cohort',
      cohort: { size: 0 },
    });
  });

  test('are listed with what E9 names, in the dialect of the account', async () => {
    const owner = await gateway.addAccount({ dialect: 'published' });
    const { id } = await addCohort({}, owner);
    await addPatient({ firstName: ['Ann', 'Bea'], cohorts: [id] }, owner);
    const { patients, meta } = (
      await owner.call('GET', `cohort/${id}/patient`)
    ).json();
    expect(meta).toEqual({ itemsOnPage: 1, itemsInTotal: 1 });
    expect(patients).toMatchObject([
      {
        eTag: expect.any(String),
        firstName: 'Ann Bea',
        dob: '1980-04-05',
        genderAtBirth: 'F',
        address: [{ zip: '02108' }],
        personalIdentifiers: [],
        facilityIds: [owner.facilityId],
        status: { hieOptOut: false },
      },
    ]);
  });

  test('are paged to the end and back by the addresses in meta', async () => {
    const { id } = await addCohort();
    const ids: string[] = [];
    for (let patient = 0; patient < 5; patient += 1)
      ids.unshift(await addPatient({ cohorts: [id] }));
    const follow = async (address: string) => {
      expect(
        address.startsWith('https://exchange.test.example.org/medical/v1/'),
      ).toBe(true);
      const answer = await account.call(
        'GET',
        address.replace('https://exchange.test.example.org', ''),
      );
      return answer.json();
    };
    let page = (
      await account.call(
        'GET',
        `cohort/${id}/patient?count=2&sort=createdAt=desc,id=desc`,
      )
    ).json();
    expect(page.meta).not.toHaveProperty('prevPage');
    const pages = [page];
    while (page.meta.nextPage) {
      page = await follow(page.meta.nextPage);
      pages.push(page);
    }
    const listed = pages.map(({ patients }) =>
      patients.map((item: { id: string }) => item.id),
    );
    expect(listed).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    expect(
      pages.map(({ meta }) => [meta.itemsOnPage, meta.itemsInTotal]),
    ).toEqual([
      [2, 5],
      [2, 5],
      [1, 5],
    ]);
    expect((await follow(page.meta.prevPage)).patients).toEqual(
      pages[1].patients,
    );
    const first = await follow(
      (await follow(page.meta.prevPage)).meta.prevPage,
    );
    expect([first.patients, first.meta.prevPage]).toEqual([
      pages[0].patients,
      undefined,
    ]);
  });

  test.each([
    [
      'fromItem=a&toItem=b',
      'toItem: fromItem and toItem cannot be used together',
    ],
    ['fromItem=abc', /^fromItem: is not a cursor of this list/],
    ['count=101', 'count: count must be at most 100'],
    ['sort=lastName=asc', 'sort: cannot sort by "lastName"; use id, createdAt'],
  ])('are not listed by ?%s', async (query, detail) => {
    const { id } = await addCohort();
    await expectError(
      account.call('GET', `cohort/${id}/patient?${query}`),
      400,
      detail,
    );
  });
});

describe('consent', () => {
  test('bars from a treatment cohort: by id nobody is added, of all patients the barred are skipped', async () => {
    const owner = await gateway.addAccount();
    const { id } = await addCohort({}, owner);
    const willing = await addPatient({}, owner);
    const barred = await addPatient(WITHOUT_TREATMENT, owner);
    const body = { patientIds: [willing, barred] };
    await expectError(
      owner.call('POST', `cohort/${id}/patient`, body),
      400,
      /^patientIds\[1\]: patient \S+ has no treatment relationship/,
    );
    expect((await owner.call('GET', `cohort/${id}`)).json().size).toBe(0);
    const all = await owner.call('POST', `cohort/${id}/patient`, {
      allPatients: true,
    });
    expect(all.json()).toMatchObject({
      message:
        '1 patient added to the cohort; 1 skipped for lack of a treatment relationship',
      cohort: { size: 1 },
      skipped: { total: 1, patientIds: [barred] },
    });
  });

  test('that ends takes the patient out of treatment cohorts only, and may come back', async () => {
    const treatment = await addCohort();
    const operations = await addCohort({ purposeOfUse: 'operations' });
    const id = await addPatient({ cohorts: [treatment.id, operations.id] });
    const { eTag } = (await account.call('GET', `patient/${id}`)).json();
    const url = `patient/${id}/treatment-relationship?treatmentRelationship=`;
    const ended = await account.call('PUT', `${url}false`, undefined, {
      'if-match': eTag,
    });
    expect([ended.statusCode, ended.json()]).toEqual([
      200,
      {
        id,
        treatmentRelationship: false,
        message: expect.stringContaining('removed from all treatment cohorts'),
      },
    ]);
    const cohorts = (await account.call('GET', `patient/${id}/cohort`)).json()
      .cohorts;
    expect(cohorts.map((cohort: { id: string }) => cohort.id)).toEqual([
      operations.id,
    ]);
    await expectError(
      account.call('PUT', `${url}true`, undefined, { 'if-match': eTag }),
      412,
      /has changed/,
    );
    expect((await account.call('PUT', `${url}true`)).json()).toMatchObject({
      treatmentRelationship: true,
    });
    const joined = await account.call(
      'POST',
      `cohort/${treatment.id}/patient`,
      { patientIds: [id] },
    );
    expect(joined.statusCode).toBe(200);
  });

  test('empties a cohort that becomes one for treatment of those without', async () => {
    const cohort = await addCohort({ purposeOfUse: 'operations' });
    const willing = await addPatient({ cohorts: [cohort.id] });
    await addPatient({ ...WITHOUT_TREATMENT, cohorts: [cohort.id] });
    const answer = await account.call('PATCH', `cohort/${cohort.id}`, {
      purposeOfUse: 'treatment',
    });
    expect(answer.json()).toMatchObject({ purposeOfUse: 'treatment', size: 1 });
    expect(await membersOf(cohort.id)).toEqual([willing]);
  });

  test('is another thing than the opt-out, which leaves cohorts alone', async () => {
    const { id: cohortId } = await addCohort();
    const id = await addPatient({ cohorts: [cohortId] });
    const out = await account.call(
      'PUT',
      `patient/${id}/hie-opt-out?hieOptOut=true`,
    );
    expect(out.json()).toEqual({
      id,
      hieOptOut: true,
      message: expect.stringContaining('opted out'),
    });
    const [patient] = (
      await account.call('GET', `cohort/${cohortId}/patient`)
    ).json().patients;
    expect(patient.status).toEqual({
      hieOptOut: true,
      treatmentRelationship: true,
    });
    expect(out.headers.etag).toBe(`"${patient.eTag}"`);
    const back = await account.call(
      'PUT',
      `patient/${id}/hie-opt-out?hieOptOut=false`,
    );
    expect(back.json().hieOptOut).toBe(false);
  });

  test.each([
    'hie-opt-out?hieOptOut',
    'treatment-relationship?treatmentRelationship',
  ])(
    'PUT …/%s takes true and false only, of patients of the account',
    async (path) => {
      const id = await addPatient();
      expect(
        (await account.call('PUT', `patient/${id}/${path}=yes`)).statusCode,
      ).toBe(400);
      expect(
        (await account.call('PUT', `patient/${id}/${path.split('?')[0]}`))
          .statusCode,
      ).toBe(400);
      const theirs = await addPatient({}, other);
      await expectError(
        account.call('PUT', `patient/${theirs}/${path}=true`),
        404,
        'Patient not found',
      );
    },
  );
});

describe('the list of patients', () => {
  test('is newest first, and filtered by facility and external id', async () => {
    const owner = await gateway.addAccount();
    const ids = [
      await addPatient({ externalId: 'one' }, owner),
      await addPatient({ externalId: 'two' }, owner),
      await addPatient({}, owner),
    ];
    const list = async (query: string) => {
      const { patients, meta } = (
        await owner.call('GET', `patient?${query}`)
      ).json();
      return { ids: patients.map((item: { id: string }) => item.id), meta };
    };
    const all = await list(`facilityId=${owner.facilityId}&count=2`);
    expect([all.ids, all.meta.itemsInTotal]).toEqual([[ids[2], ids[1]], 3]);
    const next = new URL(all.meta.nextPage);
    expect(next.searchParams.get('facilityId')).toBe(owner.facilityId);
    expect((await list(next.search.slice(1))).ids).toEqual([ids[0]]);
    expect((await list('externalId=two')).ids).toEqual([ids[1]]);
    expect((await list('sort=id=asc')).ids).toEqual([...ids].sort());
    expect((await list(`facilityId=${UNKNOWN}`)).ids).toEqual([]);
  });
});
