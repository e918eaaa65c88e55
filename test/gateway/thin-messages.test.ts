import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newPerson } from '../support/gateway.ts';
import {
  createSenderEnvironment,
  mshOf,
  type Person,
  pidOf,
} from '../support/senders.ts';

let environment: Awaited<ReturnType<typeof createSenderEnvironment>>;
beforeAll(async () => {
  environment = await createSenderEnvironment();
});
afterAll(() => environment.gateway.close());

/** The report of a person, with this status (OBR-25) and segments after OBR. */
const report = (
  person: Person,
  { status, minute = '0900' }: { status: string; minute?: string },
  ...segments: string[]
): string => {
  const obr = `OBR|1||F-${person.lastName}^ACME|2823-3^Potassium^LN|||202611200800+0000|||||||||||||||202611200859+0000||CH|${status}`;
  return [mshOf('ORU^R01', minute), pidOf(person), obr, ...segments].join('\r');
};
/** Sends messages about a new person, and returns what the record has. */
async function recordOf(
  type: string,
  ...messages: ((person: Person) => string)[]
) {
  const person = newPerson();
  const patientId = await environment.addPatient(person);
  await environment.send(...messages.map((message) => message(person)));
  return environment.resources(type, patientId);
}

describe('a report without a result (OBX) is in the record', () => {
  test('with the text of its notes', async () => {
    const note = 'NTE|1|L|FINAL DIAGNOSIS: carcinoma';
    expect(
      await recordOf('DiagnosticReport', (person) =>
        report(person, { status: 'F' }, note),
      ),
    ).toMatchObject([
      { status: 'final', conclusion: 'FINAL DIAGNOSIS: carcinoma' },
    ]);
  });

  test.each([
    ['X', 'cancelled'],
    ['I', 'registered'],
    ['F', 'final'],
  ])('as %s says', async (status, expected) => {
    expect(
      await recordOf('DiagnosticReport', (person) =>
        report(person, { status }),
      ),
    ).toMatchObject([{ status: expected }]);
  });

  test('and cancels what was preliminary', async () => {
    const potassium = 'OBX|1|NM|2823-3^Potassium^LN||5|mmol/L|||||P';
    expect(
      await recordOf(
        'Observation',
        (person) => report(person, { status: 'P' }, potassium),
        (person) => report(person, { status: 'X', minute: '1000' }),
      ),
    ).toMatchObject([{ status: 'cancelled', valueQuantity: { value: 5 } }]);
  });
});
