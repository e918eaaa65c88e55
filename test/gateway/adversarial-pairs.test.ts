import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AdversarialPair,
  type Change,
  ONLY_STAND_INS,
  TWO_PEOPLE,
  TWO_RELATIVES,
} from '../support/adversarial-pairs.ts';
import { createTestGateway, newPerson, type TestAccount, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount({ settings: { limits: { requestsPerMinute: 100_000 } } });
});
afterAll(() => gateway.close());

/** The pairs of one run have a zip each, so that only the two of a pair are compared by names, birth date, gender and zip. */
function described(name: string, change: Change = {}, zip: string, middle = '') {
  const [first = '', last = '', suffix = ''] = name.split('|').map((part) => part.trim());
  const { ssn, licence, phone } = change;
  return {
    ...newPerson({ firstName: `${first} ${middle}`.trim() }),
    lastName: `${last} ${suffix}`.trim(),
    dob: change.dob ?? '1985-03-14',
    genderAtBirth: change.gender ?? 'U',
    address: [
      { addressLine1: '12 Elm St', city: 'Boston', state: 'MA', zip: change.zip ?? zip, country: 'USA' },
    ],
    contact: [{ email: 'home@example.org', ...(phone === undefined ? {} : { phone }) }],
    personalIdentifiers: [
      ...(ssn === undefined ? [] : [{ type: 'ssn', value: ssn }]),
      ...(licence === undefined ? [] : [{ type: 'driversLicense', state: 'MA', value: licence }]),
    ],
  };
}
const create = async (body: object) => {
  const answer = await account.call('POST', `patient?facilityId=${account.facilityId}`, body);
  return { status: answer.statusCode, body: answer.json() };
};

/** In one zip; that a create joins two of one name, zip and first of January is the rule of the interface. */
const inOneZip = ({ leftChange: left, rightChange: right }: AdversarialPair): boolean =>
  left?.zip === right?.zip && left?.dob !== '1990-01-01';
/** Each pair meets in a zip of its own, so that many can be created at once. */
const PAIRS_AT_ONCE = 6;
const ALL: readonly AdversarialPair[] = [...TWO_PEOPLE, ...TWO_RELATIVES, ...ONLY_STAND_INS.filter(inOneZip)];
let next = 10_000;

test.each([
  ['without a middle name', ''],
  ['with another middle name', 'Quincy'],
])(
  'two people who are created one after the other stay two, in either order, %s',
  async (_, middle) => {
    const united: string[] = [];
    const meetings = ALL.flatMap(({ kind, left, right, leftChange, rightChange }) => {
      const [one, other] = [
        { name: left, change: leftChange },
        { name: right, change: rightChange },
      ] as const;
      const orders = middle === '' ? [[one, other] as const, [other, one] as const] : [[other, one] as const];
      return orders.map(([earlier, later]) => ({ kind, earlier, later }));
    }).values();
    const meet = async () => {
      // All take their pairs from the same iterator.
      for (const { kind, earlier, later } of meetings) {
        next += 1;
        const zip = String(next);
        const [first, second] = [
          await create(described(earlier.name, earlier.change, zip, middle)),
          await create(described(later.name, later.change, zip, middle)),
        ];
        if (first.status !== 201 || second.status !== 201 || second.body.id === first.body.id)
          united.push(`${kind}: ${earlier.name}, ${later.name} (${second.status})`);
      }
    };
    await Promise.all(Array.from({ length: PAIRS_AT_ONCE }, meet));
    expect(united).toEqual([]);
  },
  240_000,
);
