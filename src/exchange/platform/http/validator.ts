import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { type FieldError, InvalidRequestError } from '../errors.ts';
import { fieldErrors } from './validation-errors.ts';

/** Fastify's validator for zod schemas: passes on the parsed value; all errors become one 400. */
export const zodValidator: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (input: unknown) => {
    const result = schema.safeParse(input);
    if (result.success) return { value: result.data };
    const { issues } = result.error;
    const errors = fieldErrors(issues);
    const described =
      httpPart === 'querystring' ? errors.map((error) => describeRepeated(error, input)) : errors;
    return { error: new InvalidRequestError(described, Math.max(issues.length, described.length)) };
  };

/** Replaces the error of a repeated query parameter, which arrives as a list, with a helpful one. */
function describeRepeated(error: FieldError, query: unknown): FieldError {
  const value = (query as Record<string, unknown>)[error.path];
  return Array.isArray(value) ? { ...error, message: `is given ${value.length} times; give it once` } : error;
}
