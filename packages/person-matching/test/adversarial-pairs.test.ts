import { describe, expect, test } from 'vitest';
import type { FhirPatient, PersonDemographics } from '../src/index.ts';
import {
  agreesWithPerson,
  comparePersons,
  describesPerson,
  gradeMatch,
  traitsOfPerson,
} from '../src/index.ts';
import {
  type AdversarialPair,
  type Change,
  ONE_PERSON,
  ONLY_STAND_INS,
  TWO_PEOPLE,
  TWO_RELATIVES,
} from './adversarial-pairs.ts';

/** What both have besides names: a whole household's, or only the zip. */
const HOUSEHOLD = {
  phone: '6172000100',
  email: 'home@example.org',
  street: '12 Elm St',
};
interface Variant {
  household?: typeof HOUSEHOLD;
  /** Appended to the given names of both. */
  middle?: string;
  gender?: PersonDemographics['gender'];
}
const VARIANTS: ReadonlyArray<readonly [string, Variant]> = [
  ['by the zip alone', {}],
  ['in one household', { household: HOUSEHOLD }],
  ['by the zip, with another middle name', { middle: 'Quincy' }],
  [
    'in one household, with another middle name',
    { household: HOUSEHOLD, middle: 'Quincy' },
  ],
  [
    'in one household, of one stated gender',
    { household: HOUSEHOLD, gender: 'F' },
  ],
];

const partsOf = (name: string, { middle }: Variant) => {
  const [first = '', last = '', suffix = ''] = name
    .split('|')
    .map((part) => part.trim());
  return {
    first: middle === undefined ? first : `${first} ${middle}`,
    last,
    suffix,
  };
};

function ours(
  name: string,
  change: Change = {},
  variant: Variant,
): PersonDemographics {
  const { first, last, suffix } = partsOf(name, variant);
  const {
    dob = '1985-03-14',
    gender = variant.gender ?? 'U',
    zip = '02115',
    ssn,
    licence,
    phone = variant.household?.phone,
  } = change;
  const addressLine1 = variant.household?.street ?? '';
  return {
    firstNames: first.split(' '),
    lastNames: `${last} ${suffix}`.trim().split(' '),
    dob,
    gender,
    addresses: [{ addressLine1, city: 'Boston', state: 'MA', zip }],
    contacts: [
      ...(phone === undefined ? [] : [{ phone }]),
      ...(variant.household === undefined ? [] : [{ email: HOUSEHOLD.email }]),
    ],
    personalIdentifiers: [
      ...(ssn === undefined ? [] : [{ type: 'ssn' as const, value: ssn }]),
      ...(licence === undefined
        ? []
        : [{ type: 'driversLicense' as const, value: licence, state: 'MA' }]),
    ],
  };
}

const GENDERS: Record<PersonDemographics['gender'], FhirPatient['gender']> = {
  M: 'male',
  F: 'female',
  O: 'other',
  U: 'unknown',
};

/** The same person as another system describes them. */
function theirs(
  name: string,
  change: Change = {},
  variant: Variant,
): FhirPatient {
  const { suffix, first, last } = partsOf(name, variant);
  const { dob, gender, addresses, contacts, personalIdentifiers } = ours(
    name,
    change,
    variant,
  );
  return {
    resourceType: 'Patient',
    name: [
      {
        given: first.split(' '),
        family: last,
        ...(suffix === '' ? {} : { suffix: [suffix] }),
      },
    ],
    birthDate: dob,
    gender: GENDERS[gender],
    address: addresses.map(({ addressLine1, city, state, zip }) => ({
      line: [addressLine1],
      city,
      state,
      postalCode: zip,
    })),
    telecom: contacts.flatMap(({ phone, email }) => [
      ...(phone === undefined
        ? []
        : [{ system: 'phone' as const, value: phone }]),
      ...(email === undefined
        ? []
        : [{ system: 'email' as const, value: email }]),
    ]),
    identifier: personalIdentifiers.map(({ type, value }) => ({
      type: { coding: [{ code: type === 'ssn' ? 'SS' : 'DL' }] },
      value,
    })),
  };
}

/** By the review list, by sources and by documents, in both directions. */
function judge(
  { left, right, leftChange, rightChange }: AdversarialPair,
  variant: Variant,
) {
  const both = [
    {
      ours: ours(left, leftChange, variant),
      theirs: theirs(right, rightChange, variant),
    },
    {
      ours: ours(right, rightChange, variant),
      theirs: theirs(left, leftChange, variant),
    },
  ];
  const [first, second] = both.map((each) => traitsOfPerson(each.ours));
  if (first === undefined || second === undefined)
    throw new Error('a pair has two');
  return {
    grade: gradeMatch(comparePersons(first, second)).grade,
    reversed: gradeMatch(comparePersons(second, first)).grade,
    bySource: both.some((each) => describesPerson(each.ours, each.theirs)),
    byDocument: both.some((each) => agreesWithPerson(each.ours, each.theirs)),
  };
}

describe.each(VARIANTS)('two people are never matched %s', (_, variant) => {
  test.each(
    [...TWO_PEOPLE, ...TWO_RELATIVES].map(
      (pair) => [pair.kind, pair.left, pair.right, pair] as const,
    ),
  )('%s: %s, %s', (_kind, _l, _r, pair) => {
    const judged = judge(pair, variant);
    expect(judged).toMatchObject({ bySource: false, byDocument: false });
    expect(judged.grade).not.toBe('certain');
    expect(judged.reversed).toBe(judged.grade);
  });
});

describe('values that stand for none', () => {
  test.each(ONLY_STAND_INS.map((pair) => [pair.kind, pair] as const))(
    '%s',
    (_, pair) => {
      for (const [, variant] of VARIANTS.filter(
        ([, { household }]) => household === undefined,
      )) {
        const judged = judge(pair, variant);
        expect(judged).toMatchObject({ bySource: false, byDocument: false });
        expect(judged.grade).not.toBe('certain');
      }
    },
  );

  test('a birth on the first of January needs more than a zip', () => {
    const vague = { dob: '1990-01-01' };
    const pair = {
      kind: '',
      left: 'Omar | Haddad',
      right: 'Omar | Haddad',
      leftChange: vague,
      rightChange: vague,
    };
    expect(judge(pair, {})).toMatchObject({
      grade: 'probable',
      bySource: false,
    });
    expect(judge(pair, { household: HOUSEHOLD })).toMatchObject({
      grade: 'certain',
      bySource: true,
    });
  });
});

describe('one person is matched or comes before a person', () => {
  test.each(
    ONE_PERSON.map((pair) => [pair.kind, pair.left, pair.right, pair] as const),
  )('%s: %s, %s', (_kind, _l, _r, pair) => {
    expect(judge(pair, { household: HOUSEHOLD }).grade).not.toBe(
      'certainly-not',
    );
  });

  test('most of them also by the zip alone', () => {
    const missed = ONE_PERSON.filter(
      (pair) => judge(pair, {}).grade === 'certainly-not',
    );
    expect(missed.length / ONE_PERSON.length).toBeLessThan(0.05);
  });
});
