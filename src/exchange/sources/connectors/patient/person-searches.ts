import type { Demographics } from '../../../people/patients/rules/demographics.ts';
import { nameVariants } from '../../../people/patients/rules/name-words.ts';

/** One form of `Patient/_search`; the values of a parameter are alternatives. */
export type PersonSearch = Readonly<Record<string, readonly string[]>>;

/**
 * The searches for a person, from the narrowest to the widest. Servers compare names letter by letter, so the first one
 * misses people that our matching rule accepts. The others ask for everybody born on that day with a similar name, or with
 * the zip, phone or identifier that our rule demands in common; our rule then decides.
 *
 * @param offered the parameters that the server lists for Patient; undefined when it lists none
 */
export function personSearches(
  person: Demographics,
  offered?: ReadonlySet<string>,
): [PersonSearch, ...PersonSearch[]] {
  const birthdate = [person.dob];
  const exact: PersonSearch = { family: person.lastNames, given: person.firstNames, birthdate };
  const wide: PersonSearch[] = [
    { birthdate, ...similarName(person, offered) },
    { birthdate, 'address-postalcode': distinct(person.addresses.map(({ zip }) => zip.slice(0, 5))) },
    { birthdate, phone: distinct(person.contacts.flatMap(({ phone }) => phoneFormats(phone))) },
    { birthdate, identifier: distinct(person.personalIdentifiers.flatMap(({ value }) => idFormats(value))) },
  ];
  const isOffered = (search: PersonSearch) =>
    Object.entries(search).every(([name, values]) => values.length > 0 && (offered?.has(name) ?? true));
  return [exact, ...wide.filter(isOffered)];
}

/** For servers that do not take the birth date: our rule compares it in what they return. */
export const searchByName = ({ lastNames, firstNames }: Demographics): PersonSearch => ({
  family: lastNames,
  given: firstNames,
});

/** The form as it is sent. A comma inside a value is escaped; commas between values mean "or". */
export function searchForm(search: PersonSearch, pageSize: number): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, values] of Object.entries(search)) {
    form.set(name, values.map((value) => value.replace(/[\\,$|]/g, '\\$&')).join(','));
  }
  form.set('_count', String(pageSize));
  return form;
}

/** The parameters above that identify a person and therefore must not appear in a URL. */
export const IDENTIFYING_PARAMETERS = [
  'family',
  'given',
  'name',
  'birthdate',
  'address-postalcode',
  'phone',
  'identifier',
];

/** `name` searches all parts of a name and its text. Servers without it are asked for the first name alone. */
function similarName(
  { firstNames, lastNames }: Demographics,
  offered: ReadonlySet<string> | undefined,
): PersonSearch {
  const first = distinct(firstNames.flatMap(nameVariants));
  if (offered?.has('name') === false) return { given: first };
  return { name: distinct([...first, ...lastNames.flatMap(nameVariants)]) };
}

/** Phone numbers are searched as exact texts, so the usual formats are asked for. */
function phoneFormats(phone: string | undefined): string[] {
  const [, area, exchange, line] = /^(\d{3})(\d{3})(\d{4})$/.exec(phone ?? '') ?? [];
  if (area === undefined || exchange === undefined || line === undefined) return [];
  const dashed = `${area}-${exchange}-${line}`;
  const bracketed = `(${area}) ${exchange}-${line}`;
  return [
    `${area}${exchange}${line}`,
    dashed,
    bracketed,
    `${area}.${exchange}.${line}`,
    `+1${area}${exchange}${line}`,
    `1-${dashed}`,
    `+1-${dashed}`,
    `+1 ${dashed}`,
    `+1 ${bracketed}`,
  ];
}

function idFormats(value: string): string[] {
  const plain = value.replace(/[^A-Za-z0-9]/g, '');
  const asSsn = /^(\d{3})(\d{2})(\d{4})$/.exec(plain);
  return [value, plain, ...(asSsn === null ? [] : [asSsn.slice(1).join('-')])];
}

const distinct = (values: readonly string[]): string[] => [...new Set(values)];
