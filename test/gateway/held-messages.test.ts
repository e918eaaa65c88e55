import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  decideHeld,
  listHeld,
} from '../../src/exchange/messaging/notifications/held-messages.ts';
import { newPerson } from '../support/gateway.ts';
import {
  createSenderEnvironment,
  mshOf,
  type Person,
  pidOf,
} from '../support/senders.ts';
import { takeUp } from '../support/take-up.ts';

let environment: Awaited<ReturnType<typeof createSenderEnvironment>>;
beforeAll(async () => {
  environment = await createSenderEnvironment();
});
afterAll(() => environment.gateway.close());

let count = 0;
const nextNumber = () => `N${++count}`;

function resultOf(
  person: Person,
  of: { record: string; number: string; value: number; hour?: string },
): string {
  return [
    mshOf('ORU^R01', of.hour ?? '0900'),
    pidOf(person, of.record),
    `OBR|1||${of.number}^LAB|2823-3^Potassium^LN|||20261120080000+0000||||||||||||||||||F`,
    `OBX|1|NM|2823-3^Potassium^LN||${of.value}|mmol/L|||||F`,
  ].join('\r');
}

const descriptionOf = (person: Person, record: string): string =>
  [
    mshOf('ADT^A31', '1200'),
    'EVN||20261120120000+0000',
    pidOf(person, record),
  ].join('\r');

const valuesOf = async (patientId: string): Promise<number[]> =>
  (await environment.resources('Observation', patientId)).map(
    ({ valueQuantity }) => valueQuantity.value,
  );

const held = () =>
  environment.gateway.store.asSystem((tx) => listHeld(tx, 100));

/** Decides on the newest held message, and applies what is accepted. */
async function decide(outcome: 'accepted' | 'refused'): Promise<void> {
  const [message] = await held();
  await environment.gateway.store.asSystem((tx) =>
    decideHeld(tx, message?.id ?? '', outcome),
  );
  await takeUp(environment.accepted);
  await environment.recordings.drain();
}

/** Two people who have had one record number at a sender, with a result. */
async function twoOfOneRecord() {
  const harold = newPerson({
    firstName: 'Harold',
    dob: '1941-03-09',
    genderAtBirth: 'M',
  });
  const beatrice = newPerson({
    firstName: 'Beatrice',
    dob: '1987-11-30',
    genderAtBirth: 'F',
  });
  const record = nextNumber();
  const number = nextNumber();
  const haroldId = await environment.addPatient(harold);
  const beatriceId = await environment.addPatient(beatrice);
  await environment.send(resultOf(harold, { record, number, value: 5.1 }));
  expect(await valuesOf(haroldId)).toEqual([5.1]);
  return { harold, beatrice, record, number, haroldId, beatriceId };
}

describe('a record that is described as another person’s', () => {
  test('moves nothing until somebody accepts it', async () => {
    const { beatrice, record, haroldId, beatriceId } = await twoOfOneRecord();
    await environment.send(descriptionOf(beatrice, record));
    expect(await valuesOf(haroldId)).toEqual([5.1]);
    expect(await valuesOf(beatriceId)).toEqual([]);
    expect(await held()).toMatchObject([{ trigger: 'A31', outcome: 'held' }]);

    await decide('accepted');
    expect(await valuesOf(haroldId)).toEqual([]);
    expect(await valuesOf(beatriceId)).toEqual([5.1]);
    expect(await held()).toEqual([]);
  });

  test('moves nothing at all when somebody refuses it', async () => {
    const { beatrice, record, haroldId, beatriceId } = await twoOfOneRecord();
    await environment.send(descriptionOf(beatrice, record));
    await decide('refused');
    expect(await valuesOf(haroldId)).toEqual([5.1]);
    expect(await valuesOf(beatriceId)).toEqual([]);
    expect(await held()).toEqual([]);
  });

  test('is the same person’s while first name, birth date or sex stays', async () => {
    const { harold, beatrice, record, haroldId, beatriceId } =
      await twoOfOneRecord();
    const married = { ...beatrice, genderAtBirth: harold.genderAtBirth };
    await environment.send(descriptionOf(married, record));
    expect(await held()).toEqual([]);
    expect(await valuesOf(haroldId)).toEqual([]);
    expect(await valuesOf(beatriceId)).toEqual([]);
  });

  test('was a person without a name until then: that is no other person', async () => {
    const unknown = newPerson({
      firstName: 'John',
      lastName: 'Doe',
      dob: '1900-01-01',
      genderAtBirth: 'M',
    });
    const person = newPerson({ firstName: 'Beatrice', dob: '1987-11-30' });
    const patientId = await environment.addPatient(person);
    const record = nextNumber();
    await environment.send(
      resultOf(unknown, { record, number: nextNumber(), value: 4.2 }),
      descriptionOf(person, record),
    );
    expect(await held()).toEqual([]);
    expect(await valuesOf(patientId)).toEqual([4.2]);
  });
});

describe('a report about another person under a record', () => {
  test('is held, and then hers alone, also under a number used before', async () => {
    const { beatrice, record, number, haroldId, beatriceId } =
      await twoOfOneRecord();
    const report = { record, number, value: 3.3, hour: '1000' };
    await environment.send(resultOf(beatrice, report));
    expect(await valuesOf(haroldId)).toEqual([5.1]);
    expect(await valuesOf(beatriceId)).toEqual([]);

    await decide('accepted');
    expect(await valuesOf(haroldId)).toEqual([5.1]);
    expect(await valuesOf(beatriceId)).toEqual([3.3]);

    // The record is known as hers, too: a correction needs no decision.
    await environment.send(
      resultOf(beatrice, { ...report, value: 3.4, hour: '1100' }),
      resultOf(beatrice, { record, number: nextNumber(), value: 3.9 }),
    );
    expect(await held()).toEqual([]);
    expect(await valuesOf(haroldId)).toEqual([5.1]);
    expect((await valuesOf(beatriceId)).sort()).toEqual([3.4, 3.9]);
  });

  test('is held under a new number, too', async () => {
    const { beatrice, record, haroldId, beatriceId } = await twoOfOneRecord();
    const number = nextNumber();
    await environment.send(resultOf(beatrice, { record, number, value: 3.3 }));
    expect(await valuesOf(haroldId)).toEqual([5.1]);
    expect(await valuesOf(beatriceId)).toEqual([]);
    await decide('refused');
    expect(await valuesOf(beatriceId)).toEqual([]);
  });
});
