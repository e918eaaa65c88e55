import type { z } from 'zod';
import { NAMES_MAX, quoted } from '../../contract/bounds.ts';
import {
  addressSchema,
  emailSchema,
  genderSchema,
  personalIdentifierSchema,
  phoneSchema,
} from '../../contract/patients.ts';
import {
  dobSchema,
  idSchema,
  namesSchema,
  splitNames,
  usStateSchema,
} from '../../contract/primitives.ts';

/**
 * Describes how a cell violates a rule. A class of its own, so that valid cells
 * need no wrapper object.
 */
export class Wrong {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/**
 * Validates the text of a cell, which is trimmed and not empty. Returns its
 * value, or Wrong.
 */
export type CellRule<T = string> = (text: string) => T | Wrong;

/**
 * Applies the schema of an E4 field to a cell. For speed, first tries `quick`,
 * which may accept only values that the schema accepts unchanged; all other
 * values go through the schema.
 */
const bySchema =
  <T>(
    schema: z.ZodType<T>,
    quick?: (text: string) => T | undefined,
  ): CellRule<T> =>
  (text) => {
    const value = quick?.(text);
    if (value !== undefined) return value;
    const parsed = schema.safeParse(text);
    return parsed.success ? parsed.data : new Wrong(firstMessage(parsed.error));
  };

/**
 * Only the first violation is reported; further ones of the same cell would
 * confuse.
 */
const firstMessage = (error: z.ZodError): string =>
  error.issues[0]?.message ?? 'is not valid';

const plain = (expression: RegExp) => (text: string) =>
  expression.test(text) ? text : undefined;

/** As spreadsheets write a long number, whose last digits are gone. */
export const isScientific = (text: string): boolean =>
  /^\d(?:[.,]\d+)?E\+\d+$/i.test(text);

const { addressLine1, addressLine2, city } = addressSchema.shape;
const shortText = (text: string) => (text.length <= 200 ? text : undefined);
export const line1Rule = bySchema(addressLine1, shortText);
export const line2Rule = bySchema(addressLine2.unwrap(), shortText);
export const cityRule = bySchema(city, shortText);
export const externalIdRule = line1Rule;

const judgeState = bySchema(usStateSchema);
/**
 * Caches valid state codes by spelling; there are few, because a valid one has
 * two letters.
 */
const knownStates = new Map<string, string>();
export const stateRule: CellRule = (text) => {
  const known = knownStates.get(text);
  if (known !== undefined) return known;
  const judged = judgeState(text);
  if (!(judged instanceof Wrong)) knownStates.set(text, judged);
  return judged;
};

/**
 * Exactly 5 digits, which is stricter than E4 (docs/interface.md, "Bulk CSV").
 */
export const zipRule: CellRule = (text) => {
  if (/^\d{5}$/.test(text)) return text;
  const digits = text.replaceAll(/\D/g, '').length;
  const hint =
    digits === 4 ? '; a leading zero may have been lost in a spreadsheet' : '';
  return new Wrong(
    `${quoted(text)} has ${digits} digits, 5 expected${digits === 5 ? ' and nothing else' : hint}`,
  );
};

export const phoneRule = bySchema(phoneSchema, plain(/^\d{10}$/));
export const emailRule = bySchema(
  emailSchema,
  plain(
    /^(?=.{1,254}$)[A-Za-z][A-Za-z0-9._%+-]*@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/,
  ),
);

const EARLIEST_YEAR_TO_LOOK_UP = new Date().getUTCFullYear() - 1;
/**
 * Quickly accepts days 1 to 28 of past years, which are valid dates in the past
 * whatever the calendar and the clock.
 */
export const dobRule = bySchema(dobSchema, (text) =>
  /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/.test(text) &&
  Number(text.slice(0, 4)) < EARLIEST_YEAR_TO_LOOK_UP
    ? text
    : undefined,
);

const judgeGender = bySchema(genderSchema, (text) =>
  text === 'F' || text === 'M' ? text : undefined,
);
export const genderRule: CellRule<z.output<typeof genderSchema>> = (text) =>
  judgeGender(text.toUpperCase());

export const namesRule: CellRule<string[]> = bySchema<string[]>(
  namesSchema,
  (text) => {
    if (text.length > NAMES_MAX.partLength) return undefined;
    if (/^[A-Za-z]+$/.test(text)) return [text];
    const names = splitNames(text);
    return names.length > 0 && names.length <= NAMES_MAX.parts
      ? names
      : undefined;
  },
);

const [licenceSchema, ssnSchema] = personalIdentifierSchema.options;
const judgeLicence = bySchema(licenceSchema.shape.value, shortText);
export const licenceNumberRule: CellRule = (text) =>
  isScientific(text)
    ? new Wrong(
        `${quoted(text)} is in scientific notation: a spreadsheet has lost digits of it`,
      )
    : judgeLicence(text);
export const ssnRule = bySchema(ssnSchema.shape.value, plain(/^\d{9}$/));

const judgeId = bySchema(idSchema);
/** A UUID in lower case. */
export const idRule: CellRule = (text) => {
  const judged = judgeId(text);
  return judged instanceof Wrong
    ? new Wrong(`"${text.slice(0, 60)}" is not an id in UUID form`)
    : judged.toLowerCase();
};

export const flagRule: CellRule<boolean> = (text) => {
  const plainText = text.toLowerCase();
  if (plainText === 'true') return true;
  if (plainText === 'false') return false;
  return new Wrong(`"${text.slice(0, 60)}" is neither true nor false`);
};
