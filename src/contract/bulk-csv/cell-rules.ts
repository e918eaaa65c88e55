import type { z } from 'zod';
import {
  addressSchema,
  emailSchema,
  genderSchema,
  personalIdentifierSchema,
  phoneSchema,
} from '../patient.ts';
import { dobSchema, idSchema, namesSchema, splitNames, usStateSchema } from '../primitives.ts';

export type Judged<T> = { value: T; message?: undefined } | { value?: undefined; message: string };
/** Judges the text of a cell that is not empty and has no blanks at its ends. */
export type CellRule<T = string> = (text: string) => Judged<T>;

/**
 * The rules of E4's fields, for cells. Most cells of 100,000 rows are plain, so each rule first tries an expression
 * that accepts only what the schema accepts unchanged; whatever it does not know goes to the schema itself.
 */
const bySchema =
  <T>(schema: z.ZodType<T>, quick?: (text: string) => T | undefined): CellRule<T> =>
  (text) => {
    const value = quick?.(text);
    if (value !== undefined) return { value };
    const parsed = schema.safeParse(text);
    return parsed.success ? { value: parsed.data } : { message: tell(parsed.error) };
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

/** State codes as they were found, so that each spelling is judged once. */
const knownStates = new Map<string, string>();
export const stateRule: CellRule = (text) => {
  const known = knownStates.get(text);
  if (known !== undefined) return { value: known };
  const judged = bySchema(usStateSchema)(text);
  // A valid code has two letters, so there are few spellings of them.
  if (judged.value !== undefined) knownStates.set(text, judged.value);
  return judged;
};

/** Exactly 5 digits, more narrow than E4 (interface.md, E5). */
export const zipRule: CellRule = (text) => {
  if (/^\d{5}$/.test(text)) return { value: text };
  const digits = text.replaceAll(/\D/g, '').length;
  const hint = digits === 4 ? '; a leading zero may have been lost in a spreadsheet' : '';
  return {
    message: `"${text}" has ${digits} digits, 5 expected${digits === 5 ? ' and nothing else' : hint}`,
  };
};

export const phoneRule = bySchema(phoneSchema, plain(/^\d{10}$/));
export const emailRule = bySchema(
  emailSchema,
  plain(/^(?=.{1,254}$)[A-Za-z][A-Za-z0-9._%+-]*@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/),
);

/** Within days that every month has, and before this year: neither the calendar nor the clock matters. */
export const dobRule: CellRule = (text) => {
  const isPlain = /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/.test(text);
  if (isPlain && Number(text.slice(0, 4)) < new Date().getFullYear() - 1) return { value: text };
  return bySchema(dobSchema)(text);
};

export const genderRule: CellRule<z.output<typeof genderSchema>> = (text) =>
  bySchema(genderSchema)(text.toUpperCase());

export const namesRule: CellRule<string[]> = bySchema(namesSchema as z.ZodType<string[]>, (text) => {
  const names = splitNames(text);
  return names.length > 0 ? names : undefined;
});

const [licenceSchema, ssnSchema] = personalIdentifierSchema.options;
export const licenceNumberRule = bySchema(licenceSchema.shape.value, shortText);
export const ssnRule = bySchema(ssnSchema.shape.value, plain(/^\d{9}$/));

/** A UUID in lower case. */
export const idRule: CellRule = (text) => {
  const judged = bySchema(idSchema)(text);
  if (judged.value === undefined) return { message: `"${text.slice(0, 60)}" is not an id in UUID form` };
  return { value: judged.value.toLowerCase() };
};

export const flagRule: CellRule<boolean> = (text) => {
  const plainText = text.toLowerCase();
  if (plainText === 'true') return { value: true };
  if (plainText === 'false') return { value: false };
  return { message: `"${text.slice(0, 60)}" is neither true nor false` };
};
