import { z } from 'zod';

/**
 * Maximum length, in characters, of a text field without a limit of its own.
 * Generous: no real client should reach it.
 */
export const TEXT_LENGTH_MAX = 200;
/** Maximum length of a URL, in characters. */
export const URL_LENGTH_MAX = 2_000;
/**
 * Maximum length, in characters, of an eTag or of the list of eTags in
 * `If-Match`.
 */
export const ETAG_LENGTH_MAX = 1_000;

/**
 * Maximum entries of each of a patient's lists, both in one request and after
 * merging a request into a matched patient.
 */
export const PATIENT_LISTS_MAX = {
  address: 100,
  contact: 100,
  personalIdentifiers: 50,
  externalIds: 50,
  /** Ids at each system. */
  additionalIdentifiers: 50,
  facilityIds: 500,
} as const;
/**
 * First or last name: maximum number of parts, length of the whole text, and
 * length of one part.
 */
export const NAMES_MAX = {
  parts: 50,
  textLength: 2_000,
  partLength: 200,
} as const;

/**
 * Like `z.preprocess`, except that a required member stays required in the
 * OpenAPI document.
 */
export function preprocessRequired<S extends z.ZodType, V>(
  preprocess: (value: V, context: z.core.$RefinementCtx) => unknown,
  schema: S,
) {
  const preprocessed = z.preprocess(preprocess, schema);
  preprocessed._zod.def.in._zod.optin = undefined;
  return preprocessed;
}

/**
 * A list whose length is checked before its entries are validated: zod's own
 * `max` still validates every entry of a list that is too long and reports an
 * error for each. For requests only; responses are not parsed.
 */
export const boundedList = <L extends z.ZodArray>(
  list: L,
  max: number,
  error = `must have at most ${max} entries`,
) =>
  preprocessRequired((value: z.input<L>, context) => {
    if (Array.isArray(value) && value.length > max)
      context.addIssue({ code: 'custom', message: error });
    return value;
  }, list.max(max));

/**
 * A record whose number of entries is checked before its entries are validated;
 * see `boundedList`.
 */
export const boundedRecord = <R extends z.ZodRecord>(
  record: R,
  max: number,
  error = `must have at most ${max} entries`,
) =>
  z.preprocess(
    (value: z.input<R>, context) => {
      if (
        value !== null &&
        typeof value === 'object' &&
        Object.keys(value).length > max
      )
        context.addIssue({ code: 'custom', message: error });
      return value;
    },
    record.meta({ maxProperties: max }),
  );

/**
 * JSON Schema fragment for the OpenAPI document: states members that only a
 * refinement makes required.
 */
export const requiredMembers = (...names: string[]) => ({ required: names });

/**
 * JSON Schema fragment for the OpenAPI document: the text contains at least one
 * non-space character.
 */
export const NOT_BLANK = { pattern: '\\S' };

/**
 * Formats an invalid value for an error message: as JSON, truncated to
 * `lengthMax` characters.
 */
export function quoted(value: unknown, lengthMax = 60): string {
  const text =
    typeof value === 'string'
      ? value
      : (JSON.stringify(value) ?? String(value));
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;
  return typeof value === 'string' ? JSON.stringify(cut) : cut;
}

/**
 * The error of a strict object: names the unknown members, at most five, and
 * those that it supports.
 */
export const unknownOf =
  (what: string, supported: readonly string[]) =>
  (issue: z.core.$ZodRawIssue) => {
    if (issue.code !== 'unrecognized_keys') return undefined;
    const names = issue.keys.slice(0, 5).map((key) => key.slice(0, 60));
    return `unknown ${what}: ${names.join(', ')}; supported ${what}s are ${supported.join(', ')}`;
  };

/**
 * The message for what must be ten digits: how many it has and, where only
 * separators are wrong, what to send instead.
 */
export function notTenDigits(value: unknown): string {
  const digits = String(value).replaceAll(/\D/g, '');
  const instead = digits.length === 10 ? `: ${digits}` : '';
  return `${quoted(value)} has ${digits.length} digits; expected exactly 10 digits without separators${instead}`;
}
