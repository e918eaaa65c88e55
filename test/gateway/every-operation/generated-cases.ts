import type { z } from 'zod';
import type { Endpoint } from '../../../src/contract/endpoint.ts';
import {
  type EndpointName,
  endpoints,
} from '../../../src/contract/endpoints.ts';
import { NO_ID, type Refused } from './operation-cases.ts';

const BODY_BYTES_MAX = 256 * 1024;

/**
 * What follows of a row's path, body and preconditions: refusals that look
 * alike at every operation.
 */
export function generatedCases(name: EndpointName): Refused[] {
  const {
    path,
    body,
    headers,
    fhirBytesMax = BODY_BYTES_MAX,
  }: Endpoint = endpoints[name];
  const ids = [...path.matchAll(/:(id|requestId)\b/g)].map(
    ([, param]) => param ?? '',
  );
  const hasPrecondition =
    'if-match' in ((headers as z.ZodObject | undefined)?.shape ?? {});
  return [
    ...ids.flatMap((param) => [
      unknownId(param),
      malformedId(param),
      endlessId(param),
    ]),
    ...(body === undefined
      ? []
      : wrongBodies(body.safeParse(undefined).success, fhirBytesMax)),
    ...(hasPrecondition ? PRECONDITIONS : []),
  ];
}

const unknownId = (param: string): Refused => ({
  what: `an unknown ${param}`,
  status: 404,
  send: (_world, good) => ({
    ...good,
    params: { ...good.params, [param]: NO_ID },
  }),
  message: 'not found',
});

const malformedId = (param: string): Refused => ({
  what: `a malformed ${param}`,
  status: 400,
  send: (_world, good) => ({
    ...good,
    params: { ...good.params, [param]: "1' or 1=1" },
  }),
  path: param,
  message: 'expected a UUID',
});

const endlessId = (param: string): Refused => ({
  what: `a ${param} of 300 characters`,
  status: 400,
  send: (_world, good) => ({
    ...good,
    params: { ...good.params, [param]: 'a'.repeat(300) },
  }),
  message: 'A path segment of the URL is too long',
});

function wrongBodies(mayBeMissing: boolean, bytesMax: number): Refused[] {
  const text = (
    what: string,
    status: number,
    body: string,
    message: string,
  ): Refused => ({
    what,
    status,
    send: (_world, good) => ({ ...good, body }),
    message,
  });
  const typed = (type: string, body = 'a=b'): Refused => ({
    what: `a body of the type ${type}`,
    status: 415,
    send: (_world, good) => ({
      ...good,
      body,
      headers: { ...good.headers, 'content-type': type },
    }),
    message: 'Content-Type must be application/json',
  });
  return [
    text('broken JSON', 400, '{"a":', 'The body is not valid JSON'),
    text(
      'a prototype in the body',
      400,
      '{"__proto__": {"a": 1}}',
      'a member named __proto__',
    ),
    text('a list as the body', 400, '[]', 'expected object, received array'),
    text(
      'half a character',
      400,
      '{"name": "\\ud800"}',
      'half of a surrogate pair',
    ),
    text(
      'a body that is too large',
      413,
      `"${'x'.repeat(bytesMax)}"`,
      'larger than this operation allows',
    ),
    typed('text/plain'),
    typed('application/x-www-form-urlencoded'),
    typed('application/vnd.api+json', '{}'),
    ...(mayBeMissing
      ? []
      : [text('no body', 400, '', 'a JSON body is required')]),
  ];
}

const STALE: Refused[] = [
  { 'if-match': '"v99"' },
  { 'if-match': 'W/"v98", "v99"' },
].map((headers) => ({
  what: `If-Match: ${headers['if-match']}`,
  status: 412,
  send: (_world, good) => ({
    ...good,
    headers: { ...good.headers, ...headers },
  }),
  message: 'has changed since this eTag',
}));

const PRECONDITIONS: Refused[] = [
  ...STALE,
  {
    what: 'an eTag in the body that is not true any more',
    status: 412,
    send: (_world, good) => ({
      ...good,
      body: { ...(good.body as object | undefined), eTag: 'v99' },
    }),
    message: 'has changed since this eTag',
  },
];
