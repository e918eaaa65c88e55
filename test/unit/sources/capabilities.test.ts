import { expect, test } from 'vitest';
import { createFhirConnector } from '../../../src/exchange/sources/connectors/fhir-connector.ts';
import { ada, bundle, FakeSource, never, type Reply } from '../../support/fake-source.ts';

let source: FakeSource;

const statement = (...operations: string[]): Reply => ({
  json: {
    resourceType: 'CapabilityStatement',
    rest: [
      { mode: 'server', resource: [{ type: 'Patient', operation: operations.map((name) => ({ name })) }] },
    ],
  },
});

async function start(metadata: Reply) {
  source = await new FakeSource({
    'GET metadata': metadata,
    'POST Patient/$match': { json: bundle([]) },
    'POST Patient/_search': { json: bundle([]) },
  }).start();
  let nowMs = 0;
  const clock = { now: () => nowMs };
  const connector = createFhirConnector(
    { source: 'hie', baseUrl: source.baseUrl, auth: { kind: 'none' } },
    { clock },
  );
  return {
    ask: () => connector.begin(ada, {}, never),
    pass: (minutes: number) => {
      nowMs += minutes * 60_000;
    },
  };
}

const matches = () => source.askedFor('POST Patient/$match').length;
const statements = () => source.askedFor('GET metadata').length;

test.each(['match', '$match', 'patient-match'])('an operation that is stated as %s is used', async (name) => {
  const { ask } = await start(statement(name));
  await ask();
  expect(matches()).toBe(1);
});

test('an operation that others are stated without is not tried', async () => {
  const { ask } = await start(statement('everything'));
  await ask();
  expect(matches()).toBe(0);
});

test('the statement is read again after ten minutes', async () => {
  const { ask, pass } = await start(statement('match'));
  await ask();
  await ask();
  expect(statements()).toBe(1);
  pass(11);
  source.routes['GET metadata'] = statement('everything');
  await ask();
  expect([statements(), matches()]).toEqual([2, 2]);
});

test.each<[string, Reply]>([
  ['in trouble', { status: 503 }],
  ['over its limit', { status: 429 }],
])('a server that is %s is believed what it stated before', async (_, reply) => {
  const { ask, pass } = await start(statement('everything'));
  await ask();
  pass(11);
  source.routes['GET metadata'] = reply;
  await ask();
  expect([statements(), matches()]).toEqual([2, 0]);
});

test.each<[string, Reply]>([
  ['no statement', { status: 404 }],
  ['a forbidden one', { status: 403 }],
  ['one in HTML', { text: '<html>', headers: { 'content-type': 'text/html' } }],
  ['one of something else', { json: { resourceType: 'Patient' } }],
  ['one that is broken', { json: { resourceType: 'CapabilityStatement', rest: { mode: 1 } } }],
  ['one that is down', { status: 500 }],
])('a server with %s is tried', async (_, reply) => {
  const { ask } = await start(reply);
  expect(await ask()).toEqual({ kind: 'unknown-patient' });
  expect(matches()).toBe(1);
});
