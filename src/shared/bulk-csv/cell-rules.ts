import type { z } from 'zod';
import { NAMES_MAX, quoted } from '../../contract/bounds.ts';
import {
  addressSchema,
  emailSchema,
  genderSchema,
  personalIdentifierSchema,
  phoneSchema,
} from '../../contract/patients.ts';
import { dobSchema, idSchema, namesSchema, splitNames, usStateSchema } from '../../contract/primitives.ts';

/** What breaks a rule, in words. A value of its own kind, for most cells are right and need no wrapping. */
export class Wrong {
  constructor(readonly message: string) {}
}

/** Judges the text of a cell that is not empty and has no blanks at its ends. */
export type CellRule<T = string> = (text: string) => T | Wrong;

/**
 * The rules of E4's fields, for cells. Most cells of 100,000 rows are plain, so each rule first tries an expression
 * that accepts only what the schema accepts unchanged; whatever it does not know goes to the schema itself.
 */
const bySchema =
  <T>(schema: z.ZodType<T>, quick?: (text: string) => T | undefined): CellRule<T> =>
  (text) => {
    const value = quick?.(text);
    if (value !== undefined) return value;
    const parsed = schema.safeParse(text);
    return parsed.success ? parsed.data : new Wrong(tell(parsed.error));
  };

/** The first rule that the cell breaks; what it says of the others would confuse. */
const tell = (error: z.ZodError): string => error.issues[0]?.message ?? 'is not valid';

const plain = (expression: RegExp) => (text: string) => (expression.test(text) ? text : undefined);

const { addressLine1, addressLine2, city } = addressSchema.shape;
const shortText = (text: string) => (text.length <= 200 ? text : undefined);
export const line1Rule = bySchema(addressLine1, shortText);
export const line2Rule = bySchema(addressLine2.unwrap(), shortText);
export const cityRule = bySchema(city, shortText);
export const externalIdRule = line1Rule;

const judgeState = bySchema(usStateSchema);
/** State codes as they were found, so that each spelling is judged once; a valid one has two letters, so they are few. */
const knownStates = new Map<string, string>();
export const stateRule: CellRule = (text) => {
  const known = knownStates.get(text);
  if (known !== undefined) return known;
  const judged = judgeState(text);
  if (!(judged instanceof Wrong)) knownStates.set(text, judged);
  return judged;
};

/** Exactly 5 digits, more narrow than E4 (interface.md, E5). */
export const zipRule: CellRule = (text) => {
  if (/^\d{5}$/.test(text)) return text;
  const digits = text.replaceAll(/\D/g, '').length;
  const hint = digits === 4 ? '; a leading zero may have been lost in a spreadsheet' : '';
  return new Wrong(
    `${quoted(text)} has ${digits} digits, 5 expected${digits === 5 ? ' and nothing else' : hint}`,
  );
};

export const phoneRule = bySchema(phoneSchema, plain(/^\d{10}$/));
export const emailRule = bySchema(
  emailSchema,
  plain(/^(?=.{1,254}$)[A-Za-z][A-Za-z0-9._%+-]*@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/),
);

const EARLIEST_YEAR_TO_LOOK_UP = new Date().getUTCFullYear() - 1;
/** Within days that every month has, and long before now: neither the calendar nor the clock matters. */
export const dobRule = bySchema(dobSchema, (text) =>
  /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/.test(text) &&
  Number(text.slice(0, 4)) < EARLIEST_YEAR_TO_LOOK_UP
    ? text
    : undefined,
);

const judgeGender = bySchema(genderSchema, (text) => (text === 'F' || text === 'M' ? text : undefined));
export const genderRule: CellRule<z.output<typeof genderSchema>> = (text) => judgeGender(text.toUpperCase());

export const namesRule: CellRule<string[]> = bySchema<string[]>(namesSchema, (text) => {
  if (text.length > NAMES_MAX.partLength) return undefined;
  if (/^[A-Za-z]+$/.test(text)) return [text];
  const names = splitNames(text);
  return names.length > 0 && names.length <= NAMES_MAX.parts ? names : undefined;
});

const [licenceSchema, ssnSchema] = personalIdentifierSchema.options;
export const licenceNumberRule = bySchema(licenceSchema.shape.value, shortText);
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
