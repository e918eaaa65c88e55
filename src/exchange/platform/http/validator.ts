import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import {
  FIELD_ERRORS_MAX,
  type FieldError,
  InvalidRequestError,
} from '../errors.ts';

/**
 * Fastify's validator for zod schemas: passes on the parsed value; all errors
 * become one 400.
 */
export const zodValidator: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (input: unknown) => {
    const result = schema.safeParse(input);
    if (result.success) return { value: result.data };
    const { issues } = result.error;
    const errors = fieldErrors(issues);
    const described =
      httpPart === 'querystring'
        ? errors.map((error) => describeRepeated(error, input))
        : errors;
    return {
      error: new InvalidRequestError(
        described,
        Math.max(issues.length, described.length),
      ),
    };
  };

/**
 * Replaces the error of a repeated query parameter, which arrives as a list,
 * with a helpful one.
 */
function describeRepeated(error: FieldError, query: unknown): FieldError {
  const value = (query as Record<string, unknown>)[error.path];
  return Array.isArray(value)
    ? { ...error, message: `is given ${value.length} times; give it once` }
    : error;
}

type Issue = z.core.$ZodIssue;

/**
 * Maximum lengths of a path and a message; both may contain text of the caller.
 */
const PATH_LENGTH_MAX = 200;
const MESSAGE_LENGTH_MAX = 2_000;

/**
 * Converts zod issues to field errors, one per mistake, with paths such as
 * `address[0].zip`. Returns the first FIELD_ERRORS_MAX.
 */
function fieldErrors(issues: readonly Issue[]): FieldError[] {
  return issues
    .slice(0, FIELD_ERRORS_MAX)
    .flatMap((issue) => flatten(issue, []))
    .slice(0, FIELD_ERRORS_MAX)
    .map(({ path, message }) => ({
      path: cut(path, PATH_LENGTH_MAX),
      message: cut(message, MESSAGE_LENGTH_MAX),
    }));
}

const cut = (text: string, lengthMax: number): string =>
  text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;

/**
 * zod reports the errors of all members of a union. If exactly one member
 * accepts the type of the value, only its errors are returned; those of the
 * other members (`expected array`) would not help the caller.
 */
function flatten(issue: Issue, parents: readonly PropertyKey[]): FieldError[] {
  const path = [...parents, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const meant = issue.errors.filter(
      (form) => !form.every((found) => isWrongType(found)),
    );
    if (meant.length === 1)
      return (meant[0] ?? []).flatMap((found) => flatten(found, path));
  }
  if (issue.code === 'invalid_key')
    return issue.issues.flatMap((found) => flatten(found, path));
  return [{ path: formatPath(path), message: messageOf(issue, path) }];
}

const isWrongType = (issue: Issue): boolean =>
  issue.code === 'invalid_type' && issue.path.length === 0;

function messageOf(issue: Issue, path: readonly PropertyKey[]): string {
  const isMissing =
    issue.code === 'invalid_type' &&
    / received (undefined|null)$/.test(issue.message);
  if (isMissing && path.length === 0) return 'a JSON body is required';
  if (isMissing && issue.message.endsWith('undefined'))
    return `${String(path.at(-1))} is required`;
  return (
    sizeMessageOf(issue) ??
    issue.message.replace(/^Invalid (input|option): /, '')
  );
}

/**
 * Replaces zod's default messages for sizes, which read like code (`expected
 * string to have <=255 characters`).
 */
function sizeMessageOf(issue: Issue): string | undefined {
  const isOwn = /^Too (big|small): /.test(issue.message);
  if (!isOwn || !(issue.code === 'too_big' || issue.code === 'too_small'))
    return undefined;
  const [most, size] =
    issue.code === 'too_big'
      ? (['most', issue.maximum] as const)
      : (['least', issue.minimum] as const);
  switch (issue.origin) {
    case 'string':
      return `must have at ${most} ${size} ${size === 1 ? 'character' : 'characters'}`;
    case 'array':
      return `must have at ${most} ${size} ${size === 1 ? 'entry' : 'entries'}`;
    default:
      return `must be at ${most} ${size}`;
  }
}

/** `['address', 0, 'zip']` → `address[0].zip` */
function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number'
        ? `[${part}]`
        : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}
