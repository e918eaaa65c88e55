/**
 * Pairs of descriptions that matching gets wrong most easily, made up for these
 * tests. Whatever a pair does not name is the same for both: date of birth,
 * gender, zip, and in one of the test's variants also street, phone and e-mail.
 */
export interface AdversarialPair {
  kind: string;
  /** "First names | last names | suffix" */
  left: string;
  right: string;
  leftChange?: Change;
  rightChange?: Change;
}

export interface Change {
  dob?: string;
  gender?: 'M' | 'F' | 'O' | 'U';
  zip?: string;
  ssn?: string;
  licence?: string;
  phone?: string;
}

const pairs = (
  kind: string,
  ...names: ReadonlyArray<readonly [string, string]>
): AdversarialPair[] => names.map(([left, right]) => ({ kind, left, right }));

const alike = (
  kind: string,
  leftChange: Change,
  rightChange: Change,
  ...names: ReadonlyArray<readonly [string, string]>
): AdversarialPair[] =>
  pairs(kind, ...names).map((pair) => ({ ...pair, leftChange, rightChange }));

/** Born this year: the names of adults are names, even Boy. */
const NEWBORN: Change = { dob: `${new Date().getUTCFullYear()}-01-14` };
const NEWBORNS = alike(
  'names of newborns',
  NEWBORN,
  NEWBORN,
  ['Baby Boy | Smith', 'Baby Boy | Smith'],
  ['Baby Boy A | Smith', 'Baby Boy B | Smith'],
  ['Baby Girl | Lopez', 'BabyGirl | Lopez'],
  ['BabyGirl | Lopez', 'BabyGirl | Lopez'],
  ['Babyboy A | Lee', 'Babyboy B | Lee'],
  ['Newborn | Diaz', 'Newborn | Diaz'],
  ['Marias Boy | Diaz', 'Marias Boy | Diaz'],
  ['Infant Female | Diaz', 'Infant Female | Diaz'],
  ['Twin A | Adams', 'Twin B | Adams'],
  ['BB | Adams', 'BB | Adams'],
  ['Boy | Adams', 'Boy | Adams'],
  ['NBM | Adams', 'NBM | Adams'],
);

/** Two people each. */
export const TWO_PEOPLE: readonly AdversarialPair[] = [
  ...pairs(
    'a further given name differs',
    ['Mary Ann | Smith', 'Mary Beth | Smith'],
    ['Mary Ann | Smith', 'Mary Jane | Smith'],
    ['Maria Isabel | Garcia', 'Maria Elena | Garcia'],
    ['Maria Guadalupe | Reyes', 'Maria Fernanda | Reyes'],
    ['José Luis | Ramirez', 'José Antonio | Ramirez'],
    ['Juan Carlos | Ortiz', 'Juan Pablo | Ortiz'],
    ['Luis Miguel | Soto', 'Luis Angel | Soto'],
    ['Ana Maria | Vega', 'Ana Lucia | Vega'],
    ['Jean Pierre | Baptiste', 'Jean Claude | Baptiste'],
    ['Jean-Luc | Morel', 'Jean-Marc | Morel'],
    ['Min Jun | Kim', 'Min Seo | Kim'],
    ['Ji Hoon | Park', 'Ji Woo | Park'],
    ['Xiao Ming | Li', 'Xiao Hong | Li'],
    ['Md Karim | Hossain', 'Md Rahim | Hossain'],
    ['Mohammed Ali | Khan', 'Mohammed Omar | Khan'],
    ['Abdul Karim | Aziz', 'Abdul Rahman | Aziz'],
    ['Thi Lan | Nguyen', 'Thi Hoa | Nguyen'],
    ['Van Minh | Tran', 'Van Duc | Tran'],
    ['Anne Marie | Keig', 'Anne Sophie | Keig'],
    ['Rose Anne | Duval', 'Rose Marie | Duval'],
    ['John Paul | Doyle', 'John Patrick | Doyle'],
    ['John A | Miller', 'John B | Miller'],
    ['John A | Miller', 'John Benjamin | Miller'],
    ['Sri Devi | Rao', 'Sri Lakshmi | Rao'],
    ['Emma Rose Lily | Hall', 'Emma Rose Kate | Hall'],
  ),
  ...pairs(
    'given names in another order',
    ['James Michael | Brown', 'Michael James | Brown'],
    ['Ann Marie | Clark', 'Marie Ann | Clark'],
    ['Ali Hassan | Mahdi', 'Hassan Ali | Mahdi'],
    ['Lee Thomas | Webb', 'Thomas Lee | Webb'],
  ),
  ...pairs(
    'only the beginning of a shared given name',
    ['Maria | Garcia', 'Maria Elena | Garcia'],
    ['Mary | Smith', 'Mary Beth | Smith'],
    ['Jose | Ramirez', 'Jose Antonio | Ramirez'],
    ['Mohammed | Khan', 'Mohammed Omar | Khan'],
    ['Thi | Nguyen', 'Thi Hoa | Nguyen'],
    ['Min | Kim', 'Min Seo | Kim'],
  ),
  ...pairs(
    'twins',
    ['Daniel | Evans', 'David | Evans'],
    ['Hannah | Cole', 'Heather | Cole'],
    ['Jaden | Price', 'Jayden | Price'],
    ['Adelaide | Frost', 'Adelaida | Frost'],
    ['Anna | Berg', 'Hanna | Berg'],
    ['Kayla | Stone', 'Kaylee | Stone'],
    ['Mia | Lopez', 'Maya | Lopez'],
    ['Karim | Haddad', 'Karam | Haddad'],
    ['Aiden | Ross', 'Jaiden | Ross'],
    ['Olivia | Hart', 'Oliver | Hart'],
    ['Ella | Young', 'Emma | Young'],
    ['Jon | Reed', 'Jan | Reed'],
    ['Christina | Novak', 'Christine | Novak'],
    ['Gabriela | Silva', 'Gabriel | Silva'],
  ),
  ...pairs(
    'last names that share a particle',
    ['Maria Luz | De La Cruz', 'Maria Luz | De Leon'],
    ['Omar | El Sayed', 'Omar | El Masri'],
    ['Anna | Van Dyke', 'Anna | Van Buren'],
    ['Peter | St John', 'Peter | St Clair'],
    ['Peter | Saint John', 'Peter | Saint Clair'],
    ['Sean | O Brien', 'Sean | O Connor'],
    ['Sean | O’Brien', 'Sean | O’Connor'],
    ['Ian | Mac Donald', 'Ian | Mac Gregor'],
    ['Hans | Von Braun', 'Hans | Von Stein'],
    ['Paolo | Di Marco', 'Paolo | Di Pietro'],
    ['Rosa | De Los Santos', 'Rosa | De Los Reyes'],
    ['Rosa | De La Rosa', 'Rosa | De La Torre'],
    ['Yusuf | Al Hassan', 'Yusuf | Al Rashid'],
    ['David | Ben Ami', 'David | Ben Zvi'],
    ['Ana | Dos Santos', 'Ana | Dos Reis'],
    ['Luc | Le Blanc', 'Luc | Le Clerc'],
    ['Maria Luz | San Juan', 'Maria Luz | San Martin'],
  ),
  ...pairs(
    'last names that share one of two names',
    ['Carlos | Garcia Lopez', 'Carlos | Lopez Perez'],
    ['Carlos | Garcia Lopez', 'Carlos | Garcia Perez'],
    ['Elena | Ruiz Mora', 'Elena | Mora Ruiz'],
    ['Jane | Smith-Jones', 'Jane | Smith-Brown'],
    ['Jane | Baker Hill', 'Jane | Hill Turner'],
  ),
  ...pairs(
    'a suffix is no name, and tells father from son',
    ['Robert | Smith Jr', 'Robert | Jones Jr'],
    ['Robert | Smith III', 'Robert | Jones III'],
    ['Robert | Smith | Sr', 'Robert | Smith | Jr'],
    ['Robert | Smith Sr', 'Robert | Smith Jr'],
    ['Robert | Smith II', 'Robert | Smith III'],
    ['Robert Jr | Smith', 'Robert Sr | Smith'],
    ['Robert | Smith | Jr', 'Robert | Smith | III'],
  ),
  ...NEWBORNS,
  ...pairs(
    'names of unknown people',
    ['John | Doe', 'John | Doe'],
    ['Jane | Doe', 'Jane | Doe'],
    ['Unknown | Unknown', 'Unknown | Unknown'],
    ['Unknown Male | Unknown', 'Unknown Male | Unknown'],
    ['FNU | Singh', 'FNU | Singh'],
    ['Ahmad | LNU', 'Ahmad | LNU'],
    ['Unk | Unk', 'Unk | Unk'],
    ['Test | Patient', 'Test | Patient'],
    ['No Name | Garcia', 'No Name | Garcia'],
    ['Xxxx | Xxxx', 'Xxxx | Xxxx'],
  ),
  ...(
    [
      ['another SSN', { ssn: '512345671' }, { ssn: '623456782' }],
      ['another licence', { licence: 'S1234987' }, { licence: 'T7154328' }],
      ['another gender', { gender: 'M' }, { gender: 'F' }],
      ['father and son', { dob: '1955-03-14' }, { dob: '1985-03-14' }],
      ['another decade', { dob: '1975-03-14' }, { dob: '1985-03-14' }],
    ] as const
  ).map(([kind, leftChange, rightChange]) => ({
    kind,
    left: 'Robert | Wagner',
    right: 'Robert | Wagner',
    leftChange,
    rightChange,
  })),
];

const SSN: Change = { ssn: '512345671' };

/**
 * Two people each who have more in common than a household, or whose names are
 * made for the rules that forgive an error.
 */
export const TWO_RELATIVES: readonly AdversarialPair[] = [
  ...alike(
    'twins who were given one SSN',
    SSN,
    SSN,
    ['Jaden | Price', 'Jayden | Price'],
    ['Daniel | Evans', 'David | Evans'],
    ['Christina | Novak', 'Christine | Novak'],
    ['Adelaide | Frost', 'Adelaida | Frost'],
    ['Anna | Berg', 'Hanna | Berg'],
    ['Kayla | Stone', 'Kaylee | Stone'],
    ['Gabriel | Silva', 'Gabriela | Silva'],
    ['Amy | Holt', 'May | Holt'],
    ['Ian | Holt', 'Ina | Holt'],
    ['Alexander | Moss', 'Alexandra | Moss'],
    ['Maria Isabel | Garcia', 'Maria Elena | Garcia'],
    ['Karim | Haddad', 'Karam | Haddad'],
    ['Baby Boy A | Smith', 'Baby Boy B | Smith'],
    ['Twin A | Adams', 'Twin B | Adams'],
  ),
  ...alike(
    'newborn twins who were given one SSN',
    { ...NEWBORN, ...SSN },
    { ...NEWBORN, ...SSN },
    ['Baby Girl | Lopez', 'Baby Girl | Lopez'],
    ['Baby Boy A | Smith', 'Baby Boy B | Smith'],
  ),
  ...alike(
    'twins whose SSNs follow each other',
    { ssn: '512345671' },
    { ssn: '512345672' },
    ['Jaden | Price', 'Jayden | Price'],
    ['Baby Boy | Price', 'Baby Boy | Price'],
    ['Robert | Price', 'Robert | Price'],
  ),
  ...alike(
    'father and son, of whom one has his generation, or neither',
    { dob: '1955-03-14' },
    { dob: '1985-03-14' },
    ['Robert | Smith | Sr', 'Robert | Smith'],
    ['Robert | Smith', 'Robert | Smith | Jr'],
    ['Robert | Smith', 'Robert | Smith'],
    ['Robert James | Smith', 'Robert | Smith'],
  ),
  ...alike(
    'father and son with the SSN of the insured',
    { dob: '1955-03-14', ...SSN },
    { dob: '1985-03-14', ...SSN },
    ['Robert | Smith', 'Robert | Smith'],
    ['Robert | Smith | Sr', 'Robert | Smith'],
    ['Robert James | Smith', 'Robert Paul | Smith'],
  ),
  ...alike(
    'one generation stated, born on one day and month of other years',
    { dob: '1961-11-02' },
    { dob: '1991-11-02' },
    ['Luis | Ortega | Sr', 'Luis | Ortega'],
    ['Luis | Ortega', 'Luis | Ortega | II'],
  ),
  ...alike(
    'spouses',
    { gender: 'F' },
    { gender: 'M' },
    ['Kim | Lee', 'Kim | Lee'],
    ['Andrea | Rossi', 'Andrea | Rossi'],
    ['Jean | Martin', 'Jean | Martin'],
    ['Frances | Cole', 'Francis | Cole'],
  ),
  ...alike(
    'siblings of one year',
    { dob: '1985-01-14' },
    { dob: '1985-11-14' },
    ['James | Cole', 'Jamie | Cole'],
    ['J | Cole', 'James | Cole'],
    ['Maria Luz | Cole', 'Maria | Cole'],
    ['Maria Luz | Cole', 'Maria Sol | Cole'],
    ['Ann | Cole', 'Anna | Cole'],
  ),
  ...alike(
    'a near birth date and a further given name that differs',
    { dob: '1985-03-14' },
    { dob: '1985-03-15' },
    ['Emma Rose | Hall', 'Emma Kate | Hall'],
    ['John A | Miller', 'John B | Miller'],
    ['Maria Isabel | Garcia', 'Maria Elena | Garcia'],
    ['Rosa Elena | Diaz', 'Rosa Amalia | Diaz'],
    ['Md Karim | Hossain', 'Md Rahim | Hossain'],
  ),
  ...pairs(
    'initials of siblings',
    ['J | Price', 'James | Price'],
    ['A | Price', 'Anna | Price'],
    ['M L | Price', 'Maria Luz | Price'],
    ['John A | Price', 'J Brian | Price'],
  ),
  ...pairs(
    'names of exchanged letters',
    ['Amy | Holt', 'May | Holt'],
    ['Brian | Holt', 'Brain | Holt'],
    ['Ian | Holt', 'Ina | Holt'],
    ['Aidan | Holt', 'Nadia | Holt'],
    ['Neil | Holt', 'Niel | Holt'],
  ),
  ...pairs(
    'nicknames of which twins have both',
    ['Jack | Reed', 'John | Reed'],
    ['Harry | Reed', 'Henry | Reed'],
    ['Molly | Reed', 'Mary | Reed'],
    ['Ella | Reed', 'Eleanor | Reed'],
    ['Mia | Reed', 'Maria | Reed'],
  ),
  ...pairs(
    'last names that are another branch of the family, or a neighbour of the same first name',
    ['Maria | Garcia', 'Maria | Lopez'],
    ['John | Smith', 'John | Baker'],
    ['Dorothy | Miller', 'Dorothy | Moore'],
    ['Dorothy | Miller Jr', 'Dorothy | Evans'],
    ['Sean | MacDonald', 'Sean | MacGregor'],
    ['Sean | McDonald', 'Sean | McGregor'],
    ['Anna | Delacruz', 'Anna | Deleon'],
    ['Omar | Elsayed', 'Omar | Elmasri'],
    ['Nadia | Al Amin', 'Nadia | Al Amir'],
    ['Paola | Di Pino', 'Paola | Di Pina'],
    ['Ruth | Van Dam', 'Ruth | Evans'],
    ['Anneliese | Fitz Roy', 'Anneliese | Fitz Gerald'],
    ['Lucia | Lopez Garcia', 'Lucia | Lopez Perez'],
    ['Grace | Kim', 'Grace | Kin'],
  ),
  ...pairs(
    'names exchanged, of two people who have each other’s',
    ['Thomas | James', 'James | Thomas'],
    ['Ali | Hassan', 'Hassan | Ali'],
    ['Scott | Kelly', 'Kelly | Scott'],
  ),
];

/** Two people each, who have only a value in common that stands for none. */
export const ONLY_STAND_INS: readonly AdversarialPair[] = (
  [
    ...[
      '999999999',
      '000000000',
      '123456789',
      '078051120',
      '111111111',
      '987654321',
      '219099999',
    ].map((ssn) => ({ ssn })),
    ...['0000000000', '5555555555', '1234567890', '9999999999'].map(
      (phone) => ({ phone }),
    ),
    ...['00000', '99999'].map((zip) => ({ zip })),
    { licence: '00000000' },
    { licence: 'UNKNOWN' },
    { dob: '1900-01-01', zip: '60601' },
    { dob: '1990-01-01', zip: '60601' },
  ] as Change[]
).map((change) => ({
  kind: `in common only ${JSON.stringify(change)}`,
  left: 'Omar | Haddad',
  right: 'Omar | Haddad',
  leftChange: { zip: '02115', ...change },
  rightChange: { zip: '80202', ...change },
}));

/** One person each; a person should see them, if they are not matched. */
export const ONE_PERSON: readonly AdversarialPair[] = [
  ...pairs(
    'nicknames',
    ['Robert | Wagner', 'Bob | Wagner'],
    ['William | Wagner', 'Bill | Wagner'],
    ['Elizabeth | Wagner', 'Liz | Wagner'],
    ['Margaret | Wagner', 'Peggy | Wagner'],
    ['José | Ruiz', 'Pepe | Ruiz'],
    ['Francisco | Ruiz', 'Paco | Ruiz'],
    ['Guadalupe | Ruiz', 'Lupe | Ruiz'],
    ['Aleksandr | Popov', 'Sasha | Popov'],
    ['Katherine | Moss', 'Kate | Moss'],
    ['Theodore | Moss', 'Ted | Moss'],
    ['Alexander | Moss', 'Alex | Moss'],
    ['Jennifer | Moss', 'Jen | Moss'],
  ),
  ...pairs(
    'initials and other parts of the given names',
    ['J Michael | Brown', 'John Michael | Brown'],
    ['J | Brown', 'John | Brown'],
    ['John M | Brown', 'John Michael | Brown'],
    ['John Michael | Brown', 'Michael | Brown'],
    ['John Michael | Brown', 'John | Brown'],
    ['Mary Ann | Smith', 'Ann | Smith'],
    ['Mary | Smith', 'Mary Ann | Smith'],
    ['Emma Rose Lily | Hall', 'Emma Lily | Hall'],
  ),
  ...pairs(
    'joined and split names',
    ['Mary Ann | Smith', 'Maryann | Smith'],
    ['Jean-Luc | Picard', 'Jean Luc | Picard'],
    ['Min Jun | Kim', 'Minjun | Kim'],
    ['Ana Maria | Vega', 'Anamaria | Vega'],
    ['Luz | De La Cruz', 'Luz | Delacruz'],
    ['Luz | De La Cruz', 'Luz | Dela Cruz'],
    ['Ian | Mac Donald', 'Ian | Macdonald'],
    ['Sean | O Brien', 'Sean | O’Brien'],
    ['Peter | St. John', 'Peter | Saint John'],
    ['Anna | Van Dyke', 'Anna | Vandyke'],
  ),
  ...pairs(
    'transliterations and accents',
    ['Muhammad | Rahman', 'Mohammed | Rahman'],
    ['Mohamed | Rehman', 'Muhammad | Rahman'],
    ['Yusuf | Hussein', 'Youssef | Hussain'],
    ['Ahmed | Hassan', 'Ahmad | Hasan'],
    ['Sergei | Ivanov', 'Sergey | Ivanov'],
    ['Aleksandr | Petrov', 'Alexander | Petrov'],
    ['José | Núñez', 'Jose | Nunez'],
    ['Søren | Weiß', 'Soren | Weiss'],
    ['Katarzyna | Nowak', 'Catarzyna | Nowak'],
    ['Catherine | Moss', 'Katharine | Moss'],
  ),
  ...pairs(
    'typing errors',
    ['Adelaide | Lovelace', 'Adelaide | Lovlace'],
    ['Adelaide | Lovelace', 'Adealide | Lovelace'],
    ['Adelaide | Lovelace', 'Adealide | Lovlace'],
    ['Stephen | Washington', 'Stepehn | Washignton'],
    ['Katharina | Stopper', 'Katarina | Stoper'],
    ['Tammie | Badman', 'Tammy | Badman'],
    ['Lovelace | Adelaide', 'Adelaide | Lovelace'],
  ),
  ...pairs(
    'last names that changed, or are double',
    ['Jane | Smith', 'Jane | Smith-Jones'],
    ['Jane | Smith-Jones', 'Jane | Jones'],
    ['Jane | Miller', 'Jane | Kowalski'],
    ['Carlos | Garcia Lopez', 'Carlos | Garcia'],
    ['Carlos | Garcia y Lopez', 'Carlos | Garcia Lopez'],
    ['Jan | Berg', 'Jan | van der Berg'],
    ['Elena | Ruiz Mora', 'Elena | Mora Ruiz'],
    ['Robert | Smith', 'Robert | Smith Jr'],
    ['Dr Robert | Smith', 'Robert | Smith'],
  ),
  ...(
    [
      ['1985-03-14', '1985-03-15'],
      ['1985-03-14', '1985-03-04'],
      ['1985-03-04', '1985-04-03'],
      ['1985-03-31', '1985-04-01'],
      ['1985-03-14', '1986-03-14'],
      ['1985-03-14', '1958-03-14'],
      ['1985-03-14', '1985-08-14'],
    ] as const
  ).map(([left, right]) => ({
    kind: 'near dates',
    left: 'Adelaide | Lovelace',
    right: 'Adelaide | Lovelace',
    leftChange: { dob: left },
    rightChange: { dob: right },
  })),
  ...alike(
    'a newborn who has a name now',
    NEWBORN,
    NEWBORN,
    ['Baby Boy | Smith', 'Liam | Smith'],
    ['BabyGirl | Lopez', 'Camila | Lopez'],
    ['Newborn | Diaz', 'Mateo | Diaz'],
    ['Marias Boy | Diaz', 'Mateo | Diaz'],
  ),
  ...(
    [
      ['a mistyped SSN', { ssn: '512345671' }, { ssn: '512345617' }],
      ['the wrong gender', { gender: 'M' }, { gender: 'F' }],
      ['a renewed licence', { licence: 'S1234987' }, { licence: 'T7154328' }],
    ] as const
  ).map(([kind, leftChange, rightChange]) => ({
    kind,
    left: 'Robert | Wagner',
    right: 'Robert | Wagner',
    leftChange,
    rightChange,
  })),
];
