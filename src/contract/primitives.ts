import { z } from 'zod';
import { boundedList, NAMES_MAX, quoted } from './bounds.ts';
import { RECORD_SOURCES, SOURCE_TYPES } from './source-types.ts';

export {
  type RecordSource,
  SOURCE_TYPES,
  type SourceType,
} from './source-types.ts';

/** An object that the OpenAPI document lists under this name. */
export const component = <S extends z.ZodRawShape>(id: string, shape: S) =>
  z.object(shape).meta({ id });

export const sourceTypeSchema = z.enum(SOURCE_TYPES).meta({ id: 'SourceType' });
export const recordSourceSchema = z
  .enum(RECORD_SOURCES)
  .meta({ id: 'RecordSource' });

/**
 * A UUID; converted to lower case, because callers may send ids in upper case.
 */
export const idSchema = z
  .uuid({
    // Undefined leaves the default message, which says that the value is
    // missing.
    error: ({ input }) => (input === undefined ? undefined : 'expected a UUID'),
  })
  .toLowerCase();
export const instantSchema = z.iso
  .datetime({ offset: true })
  .max(40)
  .meta({ description: 'ISO 8601' });

/**
 * Maximum length of a short code, including surrounding spaces, which are
 * trimmed before validation.
 */
const SHORT_TEXT_MAX = 40;

const US_STATES =
  'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI UM FM MH PW AA AE AP';
const stateCodes = new Set(US_STATES.split(' '));
const anyCase = (code: string): string =>
  [...code].map((letter) => `[${letter}${letter.toLowerCase()}]`).join('');

/**
 * Two-letter code of a US state or territory; accepted in any case, converted
 * to upper case.
 */
export const usStateSchema = z
  .string()
  .max(SHORT_TEXT_MAX, { abort: true })
  .trim()
  .refine((value) => stateCodes.has(value.toUpperCase()), {
    error: (issue) =>
      `${quoted(issue.input)} is not the two-letter code of a US state or territory`,
  })
  .transform((value) => value.toUpperCase())
  .meta({
    pattern: `^\\s*(${US_STATES.split(' ').map(anyCase).join('|')})\\s*$`,
  });

/** A zip code: 5 digits, or ZIP+4. */
export const zipSchema = z
  .string()
  .max(SHORT_TEXT_MAX, { abort: true })
  .trim()
  .refine((value) => /^\d{5}(-\d{4})?$/.test(value), {
    error: (issue) => explainZip(String(issue.input)),
  })
  .meta({ pattern: '^\\s*[0-9]{5}(-[0-9]{4})?\\s*$' });

function explainZip(found: string): string {
  const digits = found.replaceAll(/\D/g, '').length;
  const hint =
    digits === 4 ? '; a leading zero may have been lost in a spreadsheet' : '';
  return `${quoted(found)} has ${digits} digits; expected 5 digits or ZIP+4${hint}`;
}

/** Date of birth: a real calendar date, not in the future, not before 1900. */
export const dobSchema = z.iso
  .date({
    error: ({ input }) =>
      input === undefined
        ? 'is required'
        : `${quoted(input)} is not a date in the format YYYY-MM-DD`,
    // Text that is no date is neither before 1900 nor in the future.
    abort: true,
  })
  .refine((value) => value >= '1900-01-01', { error: 'is before 1900' })
  .refine(
    (value) =>
      value <= new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10),
    {
      error: 'is in the future',
    },
  );

const A_NAME = '[^,\\s]';
const namesText = z.string().max(NAMES_MAX.textLength);
const nameList = boundedList(
  z.array(namesText).meta({ contains: { type: 'string', pattern: A_NAME } }),
  NAMES_MAX.parts,
);

/**
 * One or more names, separated by commas or spaces (docs/interface.md, Patient
 * (create request)).
 */
export const namesSchema = z
  .union([namesText.meta({ pattern: A_NAME }), nameList], {
    error: (issue) =>
      issue.input === undefined
        ? 'is required'
        : 'expected a string or a list of strings',
  })
  .transform((value) => [value].flat().flatMap(splitNames))
  .refine((names) => names.length > 0, {
    error: 'at least one name is required',
  })
  .refine((names) => names.length <= NAMES_MAX.parts, {
    error: `must have at most ${NAMES_MAX.parts} names`,
  })
  .refine(
    (names) => names.every((name) => name.length <= NAMES_MAX.partLength),
    {
      error: `a name must have at most ${NAMES_MAX.partLength} characters`,
    },
  );

export function splitNames(value: string): string[] {
  return value.split(/[,\s]+/u).filter((name) => name !== '');
}

/**
 * Prefix of a National Provider Identifier in the calculation of its check
 * digit (45 CFR 162.406).
 */
const ISSUER = '80840';

/**
 * Whether the text is a valid National Provider Identifier: 10 digits, the last
 * being the Luhn check digit.
 */
export function isNpi(text: string): boolean {
  if (!/^\d{10}$/.test(text)) return false;
  let sum = 0;
  for (const [index, digit] of [...(ISSUER + text)].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
