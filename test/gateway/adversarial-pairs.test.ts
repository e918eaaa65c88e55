import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AdversarialPair,
  type Change,
  ONLY_STAND_INS,
  TWO_PEOPLE,
  TWO_RELATIVES,
} from '../../packages/person-matching/test/adversarial-pairs.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());

/**
 * Pairs of one account have a zip each, so that only the two of a pair are
 * compared by names, birth date, gender and zip.
 */
function described(
  name: string,
  change: Change = {},
  zip: string,
  middle = '',
) {
  const [first = '', last = '', suffix = ''] = name
    .split('|')
    .map((part) => part.trim());
  const { ssn, licence, phone } = change;
  return {
    ...newPerson({ firstName: `${first} ${middle}`.trim() }),
    lastName: `${last} ${suffix}`.trim(),
    dob: change.dob ?? '1985-03-14',
    genderAtBirth: change.gender ?? 'U',
    address: [
      {
        addressLine1: '12 Elm St',
        city: 'Boston',
        state: 'MA',
        zip: change.zip ?? zip,
        country: 'USA',
      },
    ],
    contact: [
      { email: 'home@example.org', ...(phone === undefined ? {} : { phone }) },
    ],
    personalIdentifiers: [
      ...(ssn === undefined ? [] : [{ type: 'ssn', value: ssn }]),
      ...(licence === undefined
        ? []
        : [{ type: 'driversLicense', state: 'MA', value: licence }]),
    ],
  };
}
const create = async (account: TestAccount, body: object) => {
  const answer = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    body,
  );
  return { status: answer.statusCode, body: answer.json() };
};

/**
 * In one zip; that a create joins two of one name, zip and first of January is
 * the rule of the interface.
 */
const inOneZip = ({
  leftChange: left,
  rightChange: right,
}: AdversarialPair): boolean =>
  left?.zip === right?.zip && left?.dob !== '1990-01-01';
/** Each pair meets in a zip of its own, so that many can be created at once. */
const PAIRS_AT_ONCE = 6;
/**
 * All have one birth date and e-mail address: each further pair is a possible
 * duplicate of all those before it.
 */
const PAIRS_PER_ACCOUNT = 4;
const KINDS: readonly (readonly [string, readonly AdversarialPair[]])[] = [
  ['look-alikes', TWO_PEOPLE],
  ['relatives', TWO_RELATIVES],
  ['of whom stand-ins are written', ONLY_STAND_INS.filter(inOneZip)],
];
let next = 10_000;

describe.each([
  ['without a middle name', ''],
  ['with another middle name', 'Quincy'],
])(
  'two people who are created one after the other stay two, in either order, %s',
  (_, middle) => {
    test.each(KINDS)('%s', async (_kind, pairs) => {
      const united: string[] = [];
      const meetings = pairs
        .flatMap(({ kind, left, right, leftChange, rightChange }) => {
          const [one, other] = [
            { name: left, change: leftChange },
            { name: right, change: rightChange },
          ] as const;
          const orders =
            middle === ''
              ? [[one, other] as const, [other, one] as const]
              : [[other, one] as const];
          return orders.map(([earlier, later]) => ({ kind, earlier, later }));
        })
        .values();
      const meet = async () => {
        // All take their pairs from the same iterator.
        let account = await gateway.addAccount();
        let met = 0;
        for (const { kind, earlier, later } of meetings) {
          if (++met % PAIRS_PER_ACCOUNT === 0)
            account = await gateway.addAccount();
          next += 1;
          const zip = String(next);
          const first = await create(
            account,
            described(earlier.name, earlier.change, zip, middle),
          );
          const second = await create(
            account,
            described(later.name, later.change, zip, middle),
          );
          if (
            first.status !== 201 ||
            second.status !== 201 ||
            second.body.id === first.body.id
          )
            united.push(
              `${kind}: ${earlier.name}, ${later.name} (${second.status})`,
            );
        }
      };
      await Promise.all(Array.from({ length: PAIRS_AT_ONCE }, meet));
      expect(united).toEqual([]);
    });
  },
);
