import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { InvalidRequestError } from '../errors.ts';
import { fieldErrors } from './validation-errors.ts';

/** Fastify's validator over zod: the value goes on as the schema made it, mistakes become one 400. */
export const zodValidator: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (input: unknown) => {
    const result = schema.safeParse(input);
    if (result.success) return { value: result.data };
    return { error: new InvalidRequestError(fieldErrors(result.error.issues)) };
  };
