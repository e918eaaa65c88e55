import { sql } from 'kysely';
import {
  afterAll,
  beforeAll,
  beforeEach,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import {
  addMemberships,
  holdCohorts,
} from '../../src/exchange/people/cohorts/cohort-store.ts';
import { closedGate } from '../support/gate.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

/** Far above what a busy machine needs. */
const WAIT = { timeout: 240_000, interval: 20 };

let gateway: TestGateway;
let account: TestAccount;
let patients: string[];
/**
 * Transactions that the database ended because of a deadlock; they are
 * repeated, so no response shows them.
 */
let deadlocks = 0;
beforeAll(async () => {
  gateway = await createTestGateway();
  const { asAccount } = gateway.store;
  vi.spyOn(gateway.store, 'asAccount').mockImplementation((...call) =>
    asAccount(...call).catch((error: unknown) => {
      if ((error as { code?: string }).code === '40P01') deadlocks += 1;
      throw error;
    }),
  );
});
beforeEach(async () => {
  account = await gateway.addAccount();
  patients = await addPatients(60);
});
afterAll(() => gateway.close());

async function addPatients(count: number): Promise<string[]> {
  const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
    sql<{ id: string }>`
      insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids)
      select gen_random_uuid(), ${account.accountId}, '{A}', '{B}', '1980-01-01', 'U', '[]', '{}'
      from generate_series(1, ${count}) returning id`.execute(tx.db),
  );
  return rows.map(({ id }) => id);
}

let names = 0;
async function addCohort(body: Record<string, unknown> = {}): Promise<string> {
  names += 1;
  return (
    await account.call('POST', 'cohort', { name: `Race ${names}`, ...body })
  ).json().id;
}
const sizeOf = async (id: string) =>
  (await account.call('GET', `cohort/${id}`)).json().size;
const setTreatment = (patient: string | undefined, value: boolean) =>
  account.call(
    'PUT',
    `patient/${patient}/treatment-relationship?treatmentRelationship=${value}`,
  );
/** Memberships that consent forbids, and those of cohorts that are gone. */
async function wrongMembers(): Promise<number> {
  const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
    sql<{ wrong: number }>`
      select count(*) as wrong from cohort_member m
      left join cohort c on c.id = m.cohort_id join patient p on p.id = m.patient_id
      where c.id is null or (c.purpose_of_use = 'treatment' and not p.treatment_relationship)`.execute(
      tx.db,
    ),
  );
  return rows[0]?.wrong ?? -1;
}

const random = (below: number) => Math.floor(Math.random() * below);
const shuffled = (ids: readonly string[]) =>
  ids
    .map((id) => [Math.random(), id] as const)
    .sort()
    .map(([, id]) => id);

test('concurrent adds, removals, consent and purpose changes leave no forbidden member and cause no deadlock', async () => {
  deadlocks = 0;
  const transactions = vi.mocked(gateway.store.asAccount).mock.calls;
  const transactionsBefore = transactions.length;
  const cohorts = [
    await addCohort(),
    await addCohort(),
    await addCohort({ purposeOfUse: 'operations' }),
  ];
  const cohort = () => cohorts[random(cohorts.length)];
  const some = () => shuffled(patients).slice(0, 20);
  const patient = () => patients[random(patients.length)];
  const person = newPerson();
  const actions = [
    () =>
      account.call('POST', `cohort/${cohort()}/patient`, {
        patientIds: some(),
      }),
    () =>
      account.call('POST', `cohort/${cohort()}/patient`, { allPatients: true }),
    () =>
      account.call('DELETE', `cohort/${cohort()}/patient`, {
        patientIds: some(),
      }),
    () =>
      account.call('DELETE', `cohort/${cohort()}/patient`, {
        allPatients: true,
      }),
    () =>
      account.call('POST', `patient/${patient()}/cohort`, {
        cohortIds: shuffled(cohorts),
      }),
    () =>
      account.call(
        'POST',
        `patient?facilityId=${account.facilityId}`,
        newPerson({ cohorts: shuffled(cohorts) }),
      ),
    () =>
      account.call('POST', `patient?facilityId=${account.facilityId}`, {
        ...person,
        cohorts: shuffled(cohorts),
      }),
    () => setTreatment(patient(), Math.random() < 0.5),
    () => setTreatment(patient(), false),
    () =>
      account.call('PATCH', `cohort/${cohort()}`, {
        purposeOfUse: Math.random() < 0.5 ? 'treatment' : 'operations',
      }),
    () =>
      account.call('DELETE', `cohort/${cohort()}`, undefined, {
        'if-match': 'never',
      }),
  ];
  const statuses = new Set<number>();
  const work = async () => {
    for (let step = 0; step < 20; step += 1) {
      const answer = await actions[random(actions.length)]?.();
      if (answer !== undefined) statuses.add(answer.statusCode);
    }
  };
  await Promise.all(Array.from({ length: 10 }, work));

  expect(
    [...statuses].filter((status) => ![200, 201, 400, 412].includes(status)),
  ).toEqual([]);
  expect(deadlocks).toBe(0);
  // Deadlocks are counted in the transactions of the gateway itself: each of
  // the 200 requests had one.
  expect(transactions.length - transactionsBefore).toBeGreaterThanOrEqual(200);
  expect(await wrongMembers()).toBe(0);
  for (const id of cohorts) {
    const { patients: listed, meta } = (
      await account.call('GET', `cohort/${id}/patient?count=100`)
    ).json();
    expect(meta.itemsInTotal).toBe(await sizeOf(id));
    expect(listed).toHaveLength(Math.min(meta.itemsInTotal, 100));
  }
});

test('every response shows the size that its own change made', async () => {
  const id = await addCohort();
  const adds = Array.from({ length: 12 }, (_, index) =>
    account.call('POST', `cohort/${id}/patient`, {
      patientIds: patients.slice(index * 5, index * 5 + 5),
    }),
  );
  const grown = (await Promise.all(adds)).map(
    (answer) => answer.json().cohort.size,
  );
  expect(grown.sort((a, b) => a - b)).toEqual(
    Array.from({ length: 12 }, (_, index) => (index + 1) * 5),
  );
  const removals = Array.from({ length: 12 }, (_, index) =>
    account.call('DELETE', `cohort/${id}/patient`, {
      patientIds: patients.slice(index * 5, index * 5 + 5),
    }),
  );
  const shrunk = (await Promise.all(removals)).map(
    (answer) => answer.json().cohort.size,
  );
  expect(shrunk.sort((a, b) => a - b)).toEqual(
    Array.from({ length: 12 }, (_, index) => index * 5),
  );
});

test('a patient added while its cohort is deleted is in it, or there is no cohort', async () => {
  for (let round = 0; round < 15; round += 1) {
    const id = await addCohort();
    const adders = [
      () =>
        account.call('POST', `cohort/${id}/patient`, {
          patientIds: [patients[0]],
        }),
      () => account.call('POST', `cohort/${id}/patient`, { allPatients: true }),
      () =>
        account.call('POST', `patient/${patients[0]}/cohort`, {
          cohortIds: [id],
        }),
      () =>
        account.call(
          'POST',
          `patient?facilityId=${account.facilityId}`,
          newPerson({ cohorts: [id] }),
        ),
    ];
    const add = adders[round % adders.length];
    const [deleted, added] = await Promise.all([
      account.call('DELETE', `cohort/${id}`),
      add?.(),
    ]);
    const gone = deleted.statusCode === 204;
    expect([204, 400]).toContain(deleted.statusCode);
    const expected = gone ? [400, 404] : [200, 201];
    expect(expected, `${round}`).toContain(added?.statusCode);
    expect((await account.call('GET', `cohort/${id}`)).statusCode).toBe(
      gone ? 404 : 200,
    );
  }
});

test('a patient whose consent ends while all patients are added, or while the purpose becomes treatment, is no member', async () => {
  for (let round = 0; round < 12; round += 1) {
    const empty = await addCohort();
    const operations = await addCohort({ purposeOfUse: 'operations' });
    const barred = patients.slice(round * 5, round * 5 + 4);
    await account.call('POST', `cohort/${operations}/patient`, {
      allPatients: true,
    });
    const answers = await Promise.all([
      ...barred.slice(0, 2).map((id) => setTreatment(id, false)),
      account.call('POST', `cohort/${empty}/patient`, { allPatients: true }),
      account.call('PATCH', `cohort/${operations}`, {
        purposeOfUse: 'treatment',
      }),
      ...barred.slice(2).map((id) => setTreatment(id, false)),
    ]);
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(
      new Set([200]),
    );
    expect(await wrongMembers()).toBe(0);
  }
});

/** Transactions that wait for a cohort's lock. */
async function waiting(): Promise<number> {
  const [row] = await gateway.store.call(sql<{ count: number }>`
    select count(*) from pg_locks join pg_database d on d.oid = database
    where datname = current_database() and locktype = 'advisory' and not granted`);
  return row?.count ?? 0;
}

test('a change of a cohort waits for the additions under way, and later additions wait for it', async () => {
  const id = await addCohort();
  const isHeld = closedGate();
  const mayEnd = closedGate();
  onTestFinished(mayEnd.open);
  // As a chunk of a bulk create does it.
  const add = (patient: string | undefined, between: () => Promise<void>) =>
    gateway.store.asAccount(account.accountId, async (tx) => {
      await holdCohorts(tx, [id]);
      await between();
      await addMemberships(tx, patient ?? '', [id]);
      return (
        await tx.db
          .selectFrom('cohort')
          .select('color')
          .where('id', '=', id)
          .execute()
      )[0]?.color;
    });
  let hasLaterEnded = false;

  const first = add(patients[0], () => {
    isHeld.open();
    return mayEnd.passed;
  });
  await isHeld.passed;
  const change = account.call('PATCH', `cohort/${id}`, { color: 'red' });
  await vi.waitFor(async () => expect(await waiting()).toBe(1), WAIT);
  const later = add(patients[1], async () => undefined).finally(() => {
    hasLaterEnded = true;
  });
  await vi.waitFor(
    async () => expect(hasLaterEnded || (await waiting()) === 2).toBe(true),
    WAIT,
  );
  mayEnd.open();

  expect(await first).toBe('white');
  expect((await change).statusCode).toBe(200);
  // A row lock would have let it pass the waiting change, so a change could
  // starve while a bulk create fills the cohort.
  expect(await later).toBe('red');
});

test('concurrent creates and changes take a name only once', async () => {
  const ids = await Promise.all([addCohort(), addCohort(), addCohort()]);
  const body = { name: 'Wanted by many' };
  const answers = await Promise.all([
    ...ids.map((id) => account.call('PATCH', `cohort/${id}`, body)),
    account.call('POST', 'cohort', body),
    account.call('POST', 'cohort', body),
  ]);
  expect(answers.filter(({ statusCode }) => statusCode < 300)).toHaveLength(1);
  expect(answers.filter(({ statusCode }) => statusCode === 400)).toHaveLength(
    4,
  );
});

test('of several changes with the same eTag one is made and the others are refused with 412', async () => {
  const id = await addCohort();
  const { eTag } = (await account.call('GET', `cohort/${id}`)).json();
  const answers = await Promise.all(
    ['red', 'blue', 'green'].map((color) =>
      account.call('PATCH', `cohort/${id}`, { color, eTag }),
    ),
  );
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
    200, 412, 412,
  ]);
});
