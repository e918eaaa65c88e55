import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { type FieldError, InvalidRequestError } from '../errors.ts';
import { fieldErrors } from './validation-errors.ts';

/** Fastify's validator over zod: the value goes on as the schema made it, mistakes become one 400. */
export const zodValidator: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (input: unknown) => {
    const result = schema.safeParse(input);
    if (result.success) return { value: result.data };
    const { issues } = result.error;
    const errors = fieldErrors(issues);
    const told = httpPart === 'querystring' ? errors.map((error) => tellRepeated(error, input)) : errors;
    return { error: new InvalidRequestError(told, Math.max(issues.length, told.length)) };
  };

/** A parameter that is given twice arrives as a list, about which its own rule has little to say. */
function tellRepeated(error: FieldError, query: unknown): FieldError {
  const value = (query as Record<string, unknown>)[error.path];
  return Array.isArray(value)
    ? { ...error, message: `is given ${value.length} times, once expected` }
    : error;
}
