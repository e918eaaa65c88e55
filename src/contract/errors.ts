import { z } from 'zod';

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

const errorBody = z.object({
  type: z.string(),
  status: z.number().int(),
  name: z.string(),
  title: z.string(),
  detail: z.string(),
  instance: z.string(),
  errors: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .optional(),
});
export type ErrorBody = z.output<typeof errorBody>;

const EXAMPLE: ErrorBody = {
  type: 'about:blank',
  status: 400,
  name: 'BAD_REQUEST',
  title: 'Missing or invalid parameters',
  detail:
    'address[0].zip: "2110" has 4 digits; expected 5 digits or ZIP+4; a leading zero may have been lost in a spreadsheet',
  instance: 'urn:uuid:01923eae-a1b2-7c34-95d6-071829304a5b',
  errors: [
    {
      path: 'address[0].zip',
      message:
        '"2110" has 4 digits; expected 5 digits or ZIP+4; a leading zero may have been lost in a spreadsheet',
    },
  ],
};

/**
 * Error body: RFC 9457 problem details, plus `name` and `errors`
 * (docs/interface.md, Errors).
 */
export const errorBodySchema = errorBody.meta({
  id: 'Error',
  examples: [EXAMPLE],
});
