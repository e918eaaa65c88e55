import { z } from 'zod';
import example from './error-example.json' with { type: 'json' };

/** The `name` of each error status (docs/interface.md, Errors). */
export const ERROR_NAMES = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  406: 'NOT_ACCEPTABLE',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  410: 'GONE',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  423: 'LOCKED',
  429: 'TOO_MANY_REQUESTS',
  431: 'REQUEST_HEADER_FIELDS_TOO_LARGE',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
} as const;
export type ErrorStatus = keyof typeof ERROR_NAMES;

/**
 * Error body: RFC 9457 problem details, plus `name` and `errors`
 * (docs/interface.md, Errors).
 */
export const errorBodySchema = z
  .object({
    type: z.string(),
    status: z.number().int(),
    name: z.string(),
    title: z.string(),
    detail: z.string(),
    instance: z.string(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional(),
  })
  .meta({
    id: 'Error',
    examples: [example],
  });
export type ErrorBody = z.output<typeof errorBodySchema>;
