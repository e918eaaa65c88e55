import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
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
});
// People of one account who look alike are possible duplicates of each other.
beforeEach(async () => {
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const create = (body: unknown) =>
  account.call('POST', `patient?facilityId=${account.facilityId}`, body);
const ssn = (value: string) => ({
  personalIdentifiers: [{ type: 'ssn', value }],
});
const licence = (value: string, state = 'MA') => ({
  personalIdentifiers: [{ type: 'driversLicense', state, value }],
});

describe('two people with the same names, birth date, gender and zip', () => {
  test.each([
    ['SSN', ssn('512345671'), ssn('623456782'), ['ssn']],
    [
      'licence of the same state',
      licence('S1234987'),
      licence('T7154328'),
      ['driversLicense'],
    ],
  ])(
    'and another %s stay two, the answer says so, and each is found again',
    async (_, his, hers, contradicts) => {
      const person = newPerson({ firstName: 'Robin' });
      const first = (await create({ ...person, ...his })).json();
      const answer = await create({ ...person, ...hers });
      expect(answer.statusCode).toBe(201);
      const second = answer.json();
      expect(second.possibleDuplicates).toMatchObject([
        { patientId: first.id, grade: 'probable', contradicts },
      ]);
      const { possibleDuplicates } = (
        await account.call('GET', `possible-duplicate?patientId=${second.id}`)
      ).json();
      expect(possibleDuplicates).toMatchObject([
        { id: second.possibleDuplicates[0].id, status: 'open', contradicts },
      ]);

      for (const [identifier, { id }] of [
        [his, first],
        [hers, second],
      ] as const) {
        const again = await create({ ...person, ...identifier });
        expect([again.statusCode, again.json().id]).toEqual([200, id]);
        expect(again.json().personalIdentifiers).toHaveLength(1);
        expect(
          (
            await account.call('POST', 'patient/match', {
              ...person,
              ...identifier,
            })
          ).json().id,
        ).toBe(id);
        const change = { ...person, ...identifier, externalId: `of ${id}` };
        expect(
          (await account.call('PUT', `patient/${id}`, change)).statusCode,
        ).toBe(200);
      }
      // Without an identifier the oldest one is meant, and the answer names the
      // other one.
      const either = await create(person);
      expect([either.statusCode, either.json().id]).toEqual([200, first.id]);
      expect(either.json().possibleDuplicates).toMatchObject([
        { patientId: second.id },
      ]);
    },
  );

  const both = (one: string, no: string) => ({
    personalIdentifiers: [
      ...ssn(one).personalIdentifiers,
      ...licence(no).personalIdentifiers,
    ],
  });
  test.each([
    [
      'the licence, if the older has none',
      ssn('512345671'),
      licence('T7154328'),
    ],
    ['the SSN, if the older has none', licence('S1234987'), ssn('623456782')],
    [
      'the licence, if the older has both',
      both('512345671', 'S1234987'),
      licence('T7154328'),
    ],
    [
      'the SSN, if the older has both',
      both('512345671', 'S1234987'),
      ssn('623456782'),
    ],
  ])('are each found by %s', async (_, his, known) => {
    const person = newPerson({ firstName: 'Robin' });
    const first = (await create({ ...person, ...his })).json();
    const second = (
      await create({ ...person, ...both('623456782', 'T7154328') })
    ).json();
    expect(second.id).not.toBe(first.id);
    const again = await create({ ...person, ...known });
    expect([again.statusCode, again.json().id]).toEqual([200, second.id]);
    expect(
      (
        await account.call('POST', 'patient/match', { ...person, ...known })
      ).json().id,
    ).toBe(second.id);
    expect((await account.call('GET', `patient/${first.id}`)).json().eTag).toBe(
      first.eTag,
    );
  });

  test('and one SSN stay one for each licence, however many there are', async () => {
    const person = newPerson({ firstName: 'Robin' });
    const numbers = ['S1234987', 'T7154328', 'U8812345', 'V2093847'];
    const ids: string[] = [];
    for (const number of numbers) {
      const answer = await create({ ...person, ...both('512345671', number) });
      expect(answer.statusCode).toBe(201);
      ids.push(answer.json().id);
    }
    for (const [at, number] of numbers.entries()) {
      const again = await create({ ...person, ...both('512345671', number) });
      expect([again.statusCode, again.json().id]).toEqual([200, ids[at]]);
    }
  });

  test('who are created at the same time become one for each SSN', async () => {
    const person = newPerson({ firstName: 'Robin' });
    const answers = await Promise.all(
      ['512345671', '623456782', '512345671', '734567893', '623456782'].map(
        (value) => create({ ...person, ...ssn(value) }),
      ),
    );
    const ids = answers.map((answer) => answer.json().id);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
      200, 200, 201, 201, 201,
    ]);
    expect([ids[0] === ids[2], ids[1] === ids[4], new Set(ids).size]).toEqual([
      true,
      true,
      3,
    ]);
  });

  test('are one with a licence of another state, or an SSN that stands for none', async () => {
    const person = newPerson({ firstName: 'Robin' });
    const first = (
      await create({ ...person, ...licence('S1234987', 'MA') })
    ).json();
    for (const same of [
      licence('X998877', 'NY'),
      ssn('512345671'),
      ssn('999999999'),
    ]) {
      const again = await create({ ...person, ...same });
      expect([again.statusCode, again.json().id]).toEqual([200, first.id]);
    }
  });

  test('cannot be made one by an update without a word', async () => {
    const person = newPerson({ firstName: 'Robin', ...ssn('512345671') });
    await create(person);
    const other = (
      await create({ ...person, firstName: 'Toby', ...ssn('512345671') })
    ).json();
    expect(
      (await account.call('PUT', `patient/${other.id}`, person)).statusCode,
    ).toBe(409);
    const apart = await account.call('PUT', `patient/${other.id}`, {
      ...person,
      ...ssn('623456782'),
    });
    expect(apart.statusCode).toBe(200);
  });
});

describe('a name that stands for many people', () => {
  const newborn = `${new Date().getUTCFullYear()}-01-14`;

  test.each([
    'Jimboy',
    'Sonnyboy',
    'Babylyn',
    'Marygirl',
    'Xxochitl',
    'Boy',
    'Baby',
  ])(
    'is not %s, as an adult is called: twice is one patient',
    async (firstName) => {
      const person = newPerson({
        firstName,
        lastName: 'Reyes',
        dob: '1978-05-06',
      });
      const first = await create(person);
      const second = await create(person);
      expect([first.statusCode, second.statusCode]).toEqual([201, 200]);
      expect(second.json().id).toBe(first.json().id);
    },
  );

  test.each([
    ['Baby Boy', 'Smith'],
    ['BabyGirl', 'Smith'],
    ['John', 'Doe'],
    ['Unknown', 'Unknown'],
  ])(
    '%s %s is never matched, and the answer names the others',
    async (firstName, lastName) => {
      const person = newPerson({ firstName, lastName, dob: newborn });
      const first = await create(person);
      const second = await create(person);
      expect([first.statusCode, second.statusCode]).toEqual([201, 201]);
      expect(second.json().id).not.toBe(first.json().id);
      const match = await account.call('POST', 'patient/match', person);
      expect(match.statusCode).toBe(404);
    },
  );

  test('is matched under the same external id, and no longer stands for many once it is a name', async () => {
    const person = newPerson({
      firstName: 'Baby Girl',
      dob: newborn,
      externalId: 'newborn-17',
    });
    const first = (await create(person)).json();
    const again = await create(person);
    expect([again.statusCode, again.json().id]).toEqual([200, first.id]);
    const other = await create({ ...person, externalId: 'newborn-18' });
    expect(other.statusCode).toBe(201);
    expect(other.json().possibleDuplicates).toMatchObject([
      { patientId: first.id, grade: 'possible' },
    ]);

    const named = { ...person, firstName: 'Camila' };
    expect(
      (await account.call('PUT', `patient/${first.id}`, named)).statusCode,
    ).toBe(200);
    const found = await create({ ...named, externalId: undefined });
    expect([found.statusCode, found.json().id]).toEqual([200, first.id]);
  });

  test.each(['00000', '99999'])(
    'so does the zip %s, which is nobody’s',
    async (zip) => {
      const person = newPerson({
        firstName: 'Omar',
        address: [{ addressLine1: 'none', city: 'Boston', state: 'MA', zip }],
      });
      const first = await create(person);
      const second = await create(person);
      expect([first.statusCode, second.statusCode]).toEqual([201, 201]);
    },
  );
});

test('the answer to a create names who may be this person, and the answer to a read does not', async () => {
  const person = newPerson({ firstName: 'Robert', lastName: 'Wagner' });
  const first = (await create(person)).json();
  expect(first).not.toHaveProperty('possibleDuplicates');
  const second = (await create({ ...person, firstName: 'Bob' })).json();
  expect(second.possibleDuplicates).toMatchObject([
    { patientId: first.id, grade: 'possible', contradicts: [] },
  ]);
  expect(
    (await account.call('GET', `patient/${second.id}`)).json(),
  ).not.toHaveProperty('possibleDuplicates');
});
