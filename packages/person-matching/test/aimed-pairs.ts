/** What a description says of a person; '' if it does not. */
export interface AimedPerson {
  firstName: string;
  lastName: string;
  suffix: string;
  dob: string;
  gender: 'M' | 'F';
  street: string;
  zip: string;
  phone: string;
  ssn: string;
  licence: string;
}

export interface AimedPair {
  kind: string;
  ours: AimedPerson;
  theirs: AimedPerson;
}

const SOMEONE: AimedPerson = {
  firstName: 'Elena',
  lastName: 'Marchetti',
  suffix: '',
  dob: '1984-06-19',
  gender: 'F',
  street: '12 Elm Street',
  zip: '78205',
  phone: '2102000142',
  ssn: '',
  licence: '',
};
/** Neighbours, not a household. */
const APART: Partial<AimedPerson> = {
  street: '7 Oak Avenue',
  phone: '2102000187',
};
const CHILD: Partial<AimedPerson> = {
  dob: `${new Date().getUTCFullYear() - 6}-06-19`,
};
const NEWBORN: Partial<AimedPerson> = {
  dob: `${new Date().getUTCFullYear()}-01-14`,
};
const SSN = '512345671';

type Differing = readonly [
  ours: Partial<AimedPerson>,
  theirs: Partial<AimedPerson>,
];
const pairs = (
  kind: string,
  both: Partial<AimedPerson>,
  ...each: readonly Differing[]
): AimedPair[] =>
  each.map(([ours, theirs]) => ({
    kind,
    ours: { ...SOMEONE, ...both, ...ours },
    theirs: { ...SOMEONE, ...both, ...theirs },
  }));

const called = (...names: readonly (readonly [string, string])[]) =>
  names.map(
    ([ours, theirs]): Differing => [{ firstName: ours }, { firstName: theirs }],
  );
const families = (...names: readonly (readonly [string, string])[]) =>
  names.map(
    ([ours, theirs]): Differing => [{ lastName: ours }, { lastName: theirs }],
  );

/**
 * Pairs of two people each, aimed at what the rules' text (docs/matching.md)
 * might forgive. What a pair does not name is the same for both: one household.
 */
export const AIMED_PAIRS: readonly AimedPair[] = [
  ...pairs(
    'only the beginning of a name that sisters share, in one household',
    {},
    ...called(
      ['João', 'João Pedro'],
      ['Ye', 'Ye Jin'],
      ['Ngoc', 'Ngoc Anh'],
      ['Zi', 'Zi Han'],
      ['Venkata', 'Venkata Ramana'],
      ['Ma.', 'Ma. Cristina'],
      ['Abdur', 'Abdur Rahman'],
      ['Gebre', 'Gebre Selassie'],
      ['Luz', 'Luz Marina'],
      ['Ghulam', 'Ghulam Rasool'],
      ['Siti', 'Siti Aminah'],
      ['Xiao', 'Xiao Ling'],
      ['Jean', 'Jean Paul'],
      ['Fatima', 'Fatima Zahra'],
      ['Minh', 'Minh Anh'],
    ),
  ),
  ...pairs(
    'further names of sisters that differ by a letter, in one household',
    {},
    ...called(
      ['Ngoc Linh', 'Ngoc Lanh'],
      ['Venkata Ramana', 'Venkata Ramona'],
      ['Abdul Karim', 'Abdul Karem'],
      ['Luz Marina', 'Luz Marian'],
      ['Maria Elena', 'Maria Helena'],
      ['Angel Mario', 'Angel Maria'],
      ['Emma Rose', 'Emma Rosa'],
      ['Sofia Luis', 'Sofia Luisa'],
      ['Mary Ann', 'Mary Beth'],
      ['James Michael', 'Michael James'],
    ),
  ),
  ...pairs(
    'children with the SSN of their mother',
    { ...CHILD, ssn: SSN },
    ...called(
      ['Lian', 'Lina'],
      ['Jack', 'John'],
      ['Emma Grace', 'E. Grace'],
      ['Robert', 'Bob'],
      ['Maria', 'Maria Elena'],
    ),
  ),
  ...pairs(
    'adult twins with one SSN, whose names are nicknames or exchanged letters',
    { ssn: SSN },
    ...called(
      ['Jack', 'John'],
      ['Lian', 'Lina'],
      ['Amy', 'May'],
      ['Jaime', 'Jamie'],
      ['Harry', 'Henry'],
    ),
  ),
  ...pairs(
    'a made-up SSN and the birthday of those who have none',
    { ssn: SSN, ...APART },
    [{ dob: '1990-01-01' }, { dob: '1990-01-01', lastName: 'Haddad' }],
    [{ dob: '1990-07-01' }, { dob: '1990-07-01', lastName: 'Warsame' }],
    [{ dob: '1990-09-11' }, { dob: '1990-09-11', lastName: 'Tesfaye' }],
  ),
  ...[
    '900123456',
    '666123456',
    '000123456',
    '123451234',
    '111223333',
    '555555555',
    '123121234',
    '987654321',
  ].flatMap((ssn) =>
    pairs('an SSN that nobody has', { ssn }, [{}, { lastName: 'Haddad' }]),
  ),
  ...['2105551234', '5552001234', '2105550100'].flatMap((phone) =>
    pairs('a phone that nobody has', { phone }, [
      { lastName: 'Kowalczyk' },
      { lastName: 'Kowalczk', street: '7 Oak Avenue' },
    ]),
  ),
  ...pairs(
    'cousins in two flats of a house, of one name and near birthdays',
    {},
    [{ street: '12 Elm Street Apt 3B' }, flatOf('12 Elm Street Apt 17F')],
    [{ street: '12 Elm Street #3B' }, flatOf('12 Elm Street, Unit 17F')],
    [{ street: '12 Elm St 3' }, flatOf('12 Elm Street Apt 17')],
    [{}, { dob: '1984-06-18', phone: '2102000187' }],
    [{}, { dob: '1984-09-16', street: '7 Oak Avenue' }],
  ),
  ...pairs(
    'families whose names are spelled alike, in one building',
    { phone: '' },
    ...families(
      ['Hansen', 'Hanson'],
      ['Brown', 'Browne'],
      ['Smith', 'Smyth'],
      ['Nielsen', 'Nielson'],
      ['Larsen', 'Larson'],
      ['Andersen', 'Anderson'],
      ['Cruz', 'de la Cruz'],
      ['Santos', 'dos Santos'],
      ['Torre', 'de la Torre'],
      ['Rosa', 'de la Rosa'],
    ),
  ),
  ...pairs(
    'twins who are both called the same',
    {},
    ...called(
      ['Alexander Alex', 'Alexandra Alex'],
      ['Samuel Sam', 'Samantha Sam'],
      ['Christina Chris', 'Christopher Chris'],
    ),
  ),
  ...pairs(
    'what contradicts',
    {},
    [{ ssn: SSN }, { ssn: '623456782' }],
    [{ licence: 'S1234987' }, { licence: 'T7154328' }],
    [{ suffix: 'Sr' }, { suffix: 'Jr' }],
    [{ suffix: 'II' }, { suffix: 'III' }],
    [{}, { gender: 'M' }],
  ),
  ...[
    '1990-01-01',
    '1990-07-01',
    '1990-09-11',
    '1990-01-07',
    '1990-11-09',
  ].flatMap((dob) =>
    pairs(
      'namesakes of a town with the birthday of those who have none',
      { dob },
      [{}, APART],
    ),
  ),
  ...['Baby Boy', 'Mariasgirl1', 'RN', 'BB'].flatMap((firstName) =>
    pairs('newborns of one street', { ...NEWBORN, firstName }, [
      {},
      { phone: '2102000187' },
    ]),
  ),
  ...pairs(
    'unknown people in one hospital',
    { firstName: 'Kilo', lastName: 'Trauma' },
    [{}, { phone: '2102000187' }],
  ),
  ...['General Delivery', 'County Jail, 5 Oak Street'].flatMap((street) =>
    pairs(
      'residents of an institution with such a birthday',
      {
        dob: '1990-01-01',
        street,
      },
      [{}, { phone: '2102000187' }],
    ),
  ),
];

function flatOf(street: string): Partial<AimedPerson> {
  return { street, dob: '1984-06-18' };
}
