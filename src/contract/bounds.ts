import { z } from 'zod';

/** Characters of a text that has no limit of its own. Generous: a real client never meets it. */
export const TEXT_LENGTH_MAX = 200;
/** Characters of an address on the web. */
export const URL_LENGTH_MAX = 2_000;
/** Characters of an eTag, or of a list of them in `If-Match`. */
export const ETAG_LENGTH_MAX = 1_000;

/** What a patient has at most of each kind, in one request and after a match has united what is known with what is new. */
export const PATIENT_LISTS_MAX = {
  address: 100,
  contact: 100,
  personalIdentifiers: 50,
  facilityIds: 500,
} as const;
/** Parts of a first or last name; characters of all of them in one text, and of one. */
export const NAMES_MAX = { parts: 50, textLength: 2_000, partLength: 200 } as const;

/** As `z.preprocess`; but a member that is required stays so in the OpenAPI document. */
export function lookFirst<S extends z.ZodType, V>(
  look: (value: V, context: z.core.$RefinementCtx) => unknown,
  schema: S,
) {
  const read = z.preprocess(look, schema);
  read._zod.def.in._zod.optin = undefined;
  return read;
}

/**
 * A list that is measured before its entries are looked at: zod's own `max` still looks at every entry of a list that is
 * too long, and finds a mistake in each. For requests only, because answers are not read.
 */
export const boundedList = <L extends z.ZodArray>(
  list: L,
  max: number,
  error = `has at most ${max} entries`,
) =>
  lookFirst((value: z.input<L>, context) => {
    if (Array.isArray(value) && value.length > max) context.addIssue({ code: 'custom', message: error });
    return value;
  }, list.max(max));

/** The same for a record. */
export const boundedRecord = <R extends z.ZodRecord>(
  record: R,
  max: number,
  error = `has at most ${max} entries`,
) =>
  z.preprocess(
    (value: z.input<R>, context) => {
      if (value !== null && typeof value === 'object' && Object.keys(value).length > max)
        context.addIssue({ code: 'custom', message: error });
      return value;
    },
    record.meta({ maxProperties: max }),
  );

/** Rules of an object that only its check knows, for the OpenAPI document. */
export const required = (...names: string[]) => ({ required: names });

/** A text with more in it than blanks, for the OpenAPI document. */
export const NOT_BLANK = { pattern: '\\S' };

/** What was found, for a message: in quotes, and cut off where it is long. */
export function quoted(found: unknown, lengthMax = 60): string {
  const text = typeof found === 'string' ? found : (JSON.stringify(found) ?? String(found));
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;
  return typeof found === 'string' ? JSON.stringify(cut) : cut;
}
