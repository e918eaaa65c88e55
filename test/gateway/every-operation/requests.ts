import type { LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import type { Endpoint } from '../../../src/contract/endpoint.ts';
import {
  type EndpointName,
  endpoints,
} from '../../../src/contract/endpoints.ts';
import {
  codesOfStatus,
  ERROR_NAMES,
  type ErrorStatus,
  errorBodySchema,
} from '../../../src/contract/errors.ts';
import type { Sent } from './operation-cases.ts';
import type { World } from './world.ts';

/**
 * Sends it with the key of the world's account, unless the headers name another
 * one.
 */
export async function send(
  world: World,
  name: EndpointName,
  sent: Sent,
): Promise<LightMyRequestResponse> {
  const { method, path }: Endpoint = endpoints[name];
  const { params = {}, query = {}, headers = {}, slash, body } = sent;
  const filled = path.replaceAll(/:(\w+)/g, (_, param: string) => {
    const value = params[param];
    if (value === undefined)
      throw new Error(`${name}: the request has no ${param}`);
    return encodeURIComponent(value);
  });
  const address = slash ? `${filled}/` : filled;
  const search = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [
      key,
      String(value),
    ]),
  );
  const isText = typeof body === 'string';
  return world.app.inject({
    method,
    url: search.size === 0 ? address : `${address}?${search}`,
    headers: {
      'x-api-key': world.account.apiKey,
      ...(isText ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { payload: body as object }),
  });
}

/** The body is what the row says, with no member that the row does not know. */
export function expectGood(
  name: EndpointName,
  answer: LightMyRequestResponse,
  status?: number,
): void {
  const { responses }: Endpoint = endpoints[name];
  const documented = Object.keys(responses).map(Number);
  const expected = status ?? (name === 'createPatient' ? 201 : documented[0]);
  expect(answer.statusCode, `${name}: ${answer.body}`).toBe(expected);
  const schema = responses[answer.statusCode];
  if (schema === null || schema === undefined) {
    expect(answer.body).toBe('');
    return;
  }
  const body = answer.json();
  expect(schema.parse(body)).toEqual(body);
  expect(answer.headers['content-type']).toMatch(
    /^application\/(fhir\+)?json; charset=utf-8$/,
  );
}

/** A problem document with all its members, and nothing of the inside. */
export function expectRefused(
  answer: LightMyRequestResponse,
  expected: { status: number; path?: string; message?: string },
): void {
  const { status, path, message = '' } = expected;
  expect(answer.statusCode, answer.body).toBe(status);
  expect(answer.headers['content-type']).toBe(
    'application/problem+json; charset=utf-8',
  );
  const body = answer.json();
  expect(errorBodySchema.parse(body)).toEqual(body);
  expect(body).toMatchObject({
    type: `https://exchange.test.example.org/errors/${body.code}`,
    status,
    name: ERROR_NAMES[status as keyof typeof ERROR_NAMES],
    instance: `urn:uuid:${answer.headers['x-request-id']}`,
  });
  expect(codesOfStatus(status as ErrorStatus)).toContain(body.code);
  expect(body.detail).toContain(message);
  expect(answer.body).not.toMatch(INTERNALS);
  if (path === undefined) return;
  const mistake = body.errors?.find(
    (found: { path: string }) => found.path === path,
  );
  expect(mistake?.message, answer.body).toContain(message);
  expect(body.detail).toContain(
    path === '' ? mistake.message : `${path}: ${mistake.message}`,
  );
}

const INTERNALS =
  /\bat [^"]*:\d+:\d+|node_modules|\.ts\b|select |insert |postgres|kysely|SQLSTATE|ECONN/i;
