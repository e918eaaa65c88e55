export const ADDRESS_FIELDS = [
  'addressLine1',
  'addressLine2',
  'city',
  'state',
  'zip',
] as const;
const INDEXED_FIELDS = [...ADDRESS_FIELDS, 'phone', 'email', 'cohort'] as const;

/**
 * The fields of a row. Indexed fields may occur up to ten times (`zip-2`); no
 * suffix means 1.
 */
export type SingleField = Exclude<keyof typeof STEMS, IndexedField>;
export type AddressField = (typeof ADDRESS_FIELDS)[number];
export type IndexedField = (typeof INDEXED_FIELDS)[number];

export const MAX_INDEX = 10;

/** Spelled like the result of `comparableHeader` (docs/interface.md, "Bulk CSV"). */
const STEMS = {
  externalId: ['id', 'externalid'],
  firstName: ['firstname'],
  lastName: ['lastname'],
  dob: ['dob'],
  gender: ['gender', 'genderatbirth'],
  addressLine1: ['addressline1', 'address1'],
  addressLine2: ['addressline2', 'address2'],
  city: ['city'],
  state: ['state'],
  zip: ['zip', 'zipcode'],
  phone: ['phone'],
  email: ['email'],
  ssn: ['ssn'],
  driversLicenseNo: ['driverslicenseno', 'driverslicenceno'],
  driversLicenseState: ['driverslicensestate', 'driverslicencestate'],
  cohort: ['cohort'],
  facilityId: ['facilityid'],
  hieOptOut: ['hieoptout'],
};
const FIELDS = Object.keys(STEMS) as (keyof typeof STEMS)[];
const FIELD_BY_STEM: ReadonlyMap<string, SingleField | IndexedField> = new Map(
  FIELDS.flatMap((field) => STEMS[field].map((stem) => [stem, field])),
);

/** The meaning of a header cell. */
export type NamedColumn =
  | { kind: 'single'; field: SingleField }
  | { kind: 'indexed'; field: IndexedField; index: number }
  /** A known field with a number that is not allowed. */
  | { kind: 'bad-number'; takesNumbers: boolean }
  | { kind: 'unknown' };

/**
 * Normalises a header cell for comparison: ignores case, blanks and all
 * punctuation except hyphens.
 */
export const comparableHeader = (headerCell: string): string =>
  headerCell
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}-]/gu, '');

export function columnOf(headerCell: string): NamedColumn {
  const [, stem = '', suffix] =
    /^([^-]*)(?:-(.*))?$/s.exec(comparableHeader(headerCell)) ?? [];
  const field = FIELD_BY_STEM.get(stem);
  if (field === undefined) return { kind: 'unknown' };
  const takesNumbers = isIndexed(field);
  if (suffix === undefined)
    return takesNumbers
      ? { kind: 'indexed', field, index: 1 }
      : { kind: 'single', field };
  // `phone-type` is a column of the caller's own; `phone-11`, `phone-0`,
  // `phone-` and `phone--1` are mistakes.
  if (!/^-?\d*$/.test(suffix)) return { kind: 'unknown' };
  const index = /^(?:[1-9]|10)$/.test(suffix) ? Number(suffix) : undefined;
  if (!takesNumbers || index === undefined)
    return { kind: 'bad-number', takesNumbers };
  return { kind: 'indexed', field, index };
}

/** The usual spelling of a column: `firstName`, `zip-2`. */
export const usualName = (
  field: SingleField | IndexedField,
  index = 1,
): string => (isIndexed(field) ? `${field}-${index}` : field);

const isIndexed = (field: SingleField | IndexedField): field is IndexedField =>
  INDEXED_FIELDS.some((each) => each === field);

export const SINGLE_FIELDS = FIELDS.filter(
  (field) => !isIndexed(field),
) as SingleField[];
