import { expect } from 'vitest';
import {
  ada,
  bundle,
  connect,
  never,
  type Reply,
  sourceTest,
} from '../../support/fake-source.ts';

const statement = (...operations: string[]): Reply => ({
  json: {
    resourceType: 'CapabilityStatement',
    rest: [
      {
        mode: 'server',
        resource: [
          { type: 'Patient', operation: operations.map((name) => ({ name })) },
        ],
      },
    ],
  },
});

const nobody = { json: bundle([]) };
const test = sourceTest
  .extend('routes', {
    'POST Patient/$match': nobody,
    'POST Patient/_search': nobody,
  })
  .extend('server', ({ source }) => {
    let nowMs = 0;
    const connector = connect(source, {}, { clock: { now: () => nowMs } });
    return {
      states: (metadata: Reply) => source.serve({ 'GET metadata': metadata }),
      ask: () => connector.begin(ada, {}, never),
      pass: (minutes: number) => {
        nowMs += minutes * 60_000;
      },
      matches: () => source.askedFor('POST Patient/$match').length,
      statements: () => source.askedFor('GET metadata').length,
    };
  });

test.for(['match', '$match', 'patient-match'])(
  'an operation that is stated as %s is used',
  async (name, { server }) => {
    server.states(statement(name));
    await server.ask();
    expect(server.matches()).toBe(1);
  },
);

test('an operation that others are stated without is not tried', async ({
  server,
}) => {
  server.states(statement('everything'));
  await server.ask();
  expect(server.matches()).toBe(0);
});

test('the statement is read again after ten minutes', async ({ server }) => {
  server.states(statement('match'));
  await server.ask();
  await server.ask();
  expect(server.statements()).toBe(1);
  server.pass(11);
  server.states(statement('everything'));
  await server.ask();
  expect([server.statements(), server.matches()]).toEqual([2, 2]);
});

test.for<[string, Reply]>([
  ['in trouble', { status: 503 }],
  ['over its limit', { status: 429 }],
])(
  'a server that is %s is believed what it stated before',
  async ([_, reply], { server }) => {
    server.states(statement('everything'));
    await server.ask();
    server.pass(11);
    server.states(reply);
    await server.ask();
    expect([server.statements(), server.matches()]).toEqual([2, 0]);
  },
);

test.for<[string, Reply]>([
  ['no statement', { status: 404 }],
  ['a forbidden one', { status: 403 }],
  ['one in HTML', { text: '<html>', headers: { 'content-type': 'text/html' } }],
  ['one of something else', { json: { resourceType: 'Patient' } }],
  [
    'one that is broken',
    { json: { resourceType: 'CapabilityStatement', rest: { mode: 1 } } },
  ],
  ['one that is down', { status: 500 }],
])('a server with %s is tried', async ([_, reply], { server }) => {
  server.states(reply);
  expect(await server.ask()).toEqual({ kind: 'unknown-patient' });
  expect(server.matches()).toBe(1);
});
