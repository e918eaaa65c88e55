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

/** A kind of error, for the page that its `type` names. */
export interface ErrorKind {
  status: ErrorStatus;
  meaning: string;
  /** What the caller does. */
  remedy: string;
}

const REPEAT = 'Send the same request again after `Retry-After`.';

/**
 * Every kind of error by its `code`, which never changes its meaning. The first
 * of a status is the general one.
 */
export const ERROR_KINDS = {
  'invalid-parameters': {
    status: 400,
    meaning: 'A member of the body, the query or the path breaks a rule.',
    remedy:
      'Correct what `errors` names: each has the path of the member, what was found and what is expected.',
  },
  'unreadable-request': {
    status: 400,
    meaning: 'The request is not valid HTTP, or its body is not valid JSON.',
    remedy: 'Send JSON in UTF-8, with the right Content-Length.',
  },
  'upload-interrupted': {
    status: 400,
    meaning: 'The file ended before its length; nothing was stored.',
    remedy: 'Send the whole file again.',
  },
  'invalid-credentials': {
    status: 401,
    meaning: 'The API key, token or client is missing, unknown or revoked.',
    remedy:
      'Send a valid key in `x-api-key`; `WWW-Authenticate` names what else is accepted.',
  },
  'wrong-passcode': {
    status: 401,
    meaning: 'The passcode of a health link is wrong or missing.',
    remedy: 'Ask for the passcode; `remainingAttempts` says how many are left.',
  },
  'not-permitted': {
    status: 403,
    meaning: 'The caller is known, and may not do this.',
    remedy: '`detail` says what is missing; ask the operator for it.',
  },
  'scope-missing': {
    status: 403,
    meaning: 'The key or token lacks the scope of the operation.',
    remedy: 'Use one with the scope that `detail` names.',
  },
  'withheld-as-sensitive': {
    status: 403,
    meaning: 'A policy on sensitive data withholds this.',
    remedy: 'Nothing: it is not given to this account.',
  },
  'not-found': {
    status: 404,
    meaning: 'There is nothing with this id in the account.',
    remedy: 'Check the id, and that the key is of the right account.',
  },
  'no-such-operation': {
    status: 404,
    meaning: 'There is no operation at this path.',
    remedy: 'See `/reference` for the paths.',
  },
  'method-not-allowed': {
    status: 405,
    meaning: 'The path has other methods.',
    remedy: 'Use one that `Allow` names.',
  },
  'not-acceptable': {
    status: 406,
    meaning: 'The format that `Accept` asks for is not served.',
    remedy: 'Ask for JSON.',
  },
  'request-timeout': {
    status: 408,
    meaning: 'The request did not arrive in time; nothing was stored.',
    remedy: 'Send it again.',
  },
  conflict: {
    status: 409,
    meaning: 'It is not possible in the present state.',
    remedy: '`detail` names the state; read the object again.',
  },
  'idempotency-key-in-progress': {
    status: 409,
    meaning: 'The first request with this Idempotency-Key is in progress.',
    remedy: REPEAT,
  },
  'already-uploaded': {
    status: 409,
    meaning: 'A file was uploaded to this address before.',
    remedy: 'Compare `upload`; start a new bulk create for another file.',
  },
  gone: {
    status: 410,
    meaning: 'It existed, and was withdrawn or has expired.',
    remedy: '`detail` says whether to start again.',
  },
  'link-expired': {
    status: 410,
    meaning: 'The time of the link is over.',
    remedy: 'Request a new link.',
  },
  'changed-since-read': {
    status: 412,
    meaning: 'The object has changed since this eTag.',
    remedy: 'Read it again, and repeat the change.',
  },
  'body-too-large': {
    status: 413,
    meaning: 'The body or file is larger than the operation allows.',
    remedy: 'Send less, or several requests.',
  },
  'unsupported-media-type': {
    status: 415,
    meaning: 'The Content-Type or Content-Encoding is not accepted here.',
    remedy: 'Send the type that `detail` names.',
  },
  unprocessable: {
    status: 422,
    meaning: 'The request is well formed, and cannot be carried out.',
    remedy: '`detail` says why.',
  },
  'idempotency-key-reused': {
    status: 422,
    meaning:
      'This Idempotency-Key was used for a different request within 24 hours.',
    remedy: 'Use a new key for each request, and the same for its repetitions.',
  },
  'not-convertible': {
    status: 422,
    meaning: 'The document cannot be converted to this format.',
    remedy: 'Ask for the original file.',
  },
  locked: {
    status: 423,
    meaning: 'Other work on the object is in progress.',
    remedy: 'Wait until it ends, or cancel it.',
  },
  'rate-limited': {
    status: 429,
    meaning: 'A limit of the account is used up.',
    remedy:
      '`RateLimit-Policy` names the limit; send the request again after `Retry-After`.',
  },
  'headers-too-large': {
    status: 431,
    meaning: 'The headers, with the address, are too long.',
    remedy: 'Send fewer query parameters.',
  },
  'internal-error': {
    status: 500,
    meaning: 'Something failed at our end.',
    remedy:
      'Repeat a request with an Idempotency-Key; to report it, quote the id in `instance`.',
  },
  'export-failed': {
    status: 500,
    meaning: 'The bulk export ended without its files.',
    remedy: 'Start a new export.',
  },
  unavailable: {
    status: 503,
    meaning: 'A part that is needed cannot be used now; nothing was done.',
    remedy: REPEAT,
  },
  overloaded: {
    status: 503,
    meaning:
      'The account has too many requests in progress, or the service is overloaded; nothing was done.',
    remedy: `${REPEAT} Send fewer at a time.`,
  },
  'database-unavailable': {
    status: 503,
    meaning: 'The database cannot be reached.',
    remedy: REPEAT,
  },
  'file-store-unavailable': {
    status: 503,
    meaning: 'The store of files cannot be used.',
    remedy: REPEAT,
  },
  'not-configured': {
    status: 503,
    meaning: 'The operator has not set up the partner that this needs.',
    remedy: 'Ask the operator.',
  },
} as const satisfies Readonly<Record<string, ErrorKind>>;
export type ErrorCode = keyof typeof ERROR_KINDS;
export const ERROR_CODES = Object.keys(ERROR_KINDS) as ErrorCode[];

/** The codes that an error of this status may have, the general one first. */
export const codesOfStatus = (status: ErrorStatus): ErrorCode[] =>
  ERROR_CODES.filter((code) => ERROR_KINDS[code].status === status);

/** The path of the page about a kind of error. */
export const errorPagePath = (code: ErrorCode): string => `/errors/${code}`;

const errorBody = z.object({
  type: z.string().describe('The address of the page about this `code`.'),
  code: z.string().meta({
    description:
      'The kind of error. A code never changes its meaning; later versions may add codes, so treat an unknown one by its status.',
    'x-extensible-enum': ERROR_CODES,
  }),
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
  type: `https://exchange.example.org${errorPagePath('invalid-parameters')}`,
  code: 'invalid-parameters',
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
 * Error body: RFC 9457 problem details, plus `code`, `name` and `errors`
 * (docs/interface.md, Errors).
 */
export const errorBodySchema = errorBody.meta({
  id: 'Error',
  examples: [EXAMPLE],
});
