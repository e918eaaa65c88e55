import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { searchedTypesOf } from '../../src/exchange/sources/connectors/collect/resource-types.ts';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import { ada, adaAtSource } from '../support/ada.ts';
import {
  bundle,
  FakeSource,
  condition as namedOnly,
  type Reply,
} from '../support/fake-source.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';

// FHIR servers as they are in the field: a query of each ends complete, or says
// what is missing.

let environment: QueryEnvironment;
beforeAll(async () => {
  environment = await createQueryEnvironment();
});
afterAll(() => environment.close());

type Routes = FakeSource['routes'];
const EVERYTHING = 'GET Patient/p1/$everything';
const condition = (id: string, patient?: string) => ({
  ...namedOnly(id, patient),
  code: { text: 'Gout' },
});
const c1 = condition('c1');
const outcome = (severity: string, code: string) => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity, code }],
});
const text = (
  body: string | Buffer,
  headers: Record<string, string> = {},
): Reply => ({
  write: (response) =>
    response
      .writeHead(200, { 'content-type': 'application/fhir+json', ...headers })
      .end(body),
});
const statement = (resource: object[], fhirVersion = '4.0.1'): Reply => ({
  json: {
    resourceType: 'CapabilityStatement',
    fhirVersion,
    rest: [{ mode: 'server', resource }],
  },
});
const PAGE = JSON.stringify(bundle([c1]));
/**
 * Serves Patients only, says so, and has no $everything; searches by type work
 * nevertheless.
 */
const PATIENT_ONLY: Routes = {
  'GET metadata': statement([
    {
      type: 'Patient',
      interaction: [{ code: 'read' }, { code: 'search-type' }],
    },
  ]),
  'POST Patient/$match': { status: 404 },
  'POST Patient/_search': { json: bundle([adaAtSource]) },
  [EVERYTHING]: { status: 404 },
};
const byType =
  (refused?: string) =>
  (asked: { method: string; path: string; body: string }) => {
    const [, type] = /^([A-Z]\w+)/.exec(asked.path) ?? [];
    if (type === refused) return { status: 403 };
    return { json: bundle(type === 'Condition' ? [c1] : []) };
  };

interface Server {
  what: string;
  routes?: Routes;
  others?: FakeSource['replyToOthers'] | ReturnType<typeof byType>;
  /** Names of the resources that are in the record. */
  has: string[];
  /**
   * What the timeline or the failure says; none: the query is complete, and no
   * gap is noted.
   */
  says?: RegExp;
}

const SERVERS: Server[] = [
  { what: 'an ordinary one', has: ['Condition/c1'] },
  {
    what: 'pages that loop',
    routes: {
      [EVERYTHING]: { json: bundle([c1], 'Patient/p1/$everything?page=2') },
      [`${EVERYTHING}?page=2`]: {
        json: bundle([condition('c2')], 'Patient/p1/$everything'),
      },
    },
    has: ['Condition/c1', 'Condition/c2'],
    says: /the same next link twice: its pages form a loop/,
  },
  {
    what: 'an error within a page',
    routes: {
      [EVERYTHING]: { json: bundle([c1, outcome('error', 'timeout')]) },
    },
    has: ['Condition/c1'],
    says: /^incomplete: the source reports an error \(timeout\)/m,
  },
  {
    what: 'a page that says that it is incomplete, as an information',
    routes: {
      [EVERYTHING]: {
        json: bundle([c1, outcome('information', 'incomplete')]),
      },
    },
    has: ['Condition/c1'],
    says: /^incomplete: the source reports incomplete/m,
  },
  {
    what: 'R5, by its statement',
    routes: { 'GET metadata': statement([], '5.0.0') },
    has: [],
    says: /FHIR 5\.0\.0, and only R4/,
  },
  {
    what: 'STU3, by its statement',
    routes: { 'GET metadata': statement([], '3.0.2') },
    has: [],
    says: /FHIR 3\.0\.2, and only R4/,
  },
  {
    what: 'R5, by the type of its page',
    routes: {
      [EVERYTHING]: text(PAGE, {
        'content-type': 'application/fhir+json; fhirVersion=5.0',
      }),
    },
    has: [],
    says: /in FHIR 5\.0; only R4/,
  },
  {
    what: 'one resource of R5 among those of R4',
    routes: {
      [EVERYTHING]: {
        json: bundle([
          c1,
          {
            resourceType: 'Encounter',
            id: 'e1',
            status: 'completed',
            subject: { reference: 'Patient/p1' },
            class: [{ coding: [{ code: 'AMB' }] }],
            actualPeriod: { start: '2026-01-01' },
          },
        ]),
      },
    },
    has: ['Condition/c1'],
    says: /1 resource in another version of FHIR than R4/,
  },
  {
    what: 'one that refuses birthdate',
    routes: {
      'POST Patient/$match': { status: 404 },
      'POST Patient/_search': ({ body }) =>
        new URLSearchParams(body).has('birthdate')
          ? { status: 400 }
          : { json: bundle([adaAtSource]) },
    },
    has: ['Condition/c1'],
  },
  {
    what: 'one that knows GET only',
    routes: {
      'POST Patient/$match': { status: 405 },
      'POST Patient/_search': { status: 405 },
      'GET Patient': { json: bundle([adaAtSource]) },
    },
    has: ['Condition/c1'],
  },
  {
    what: 'a statement that lists Patients only, and no $everything',
    routes: PATIENT_ONLY,
    others: byType(),
    has: ['Condition/c1'],
  },
  {
    what: 'the same, which refuses one type',
    routes: PATIENT_ONLY,
    others: byType('Observation'),
    has: ['Condition/c1'],
    says: /Observation/,
  },
  {
    what: 'the same, which serves nothing else',
    routes: PATIENT_ONLY,
    others: { status: 404 },
    has: [],
    says: /Condition/,
  },
  {
    what: 'a byte order mark',
    routes: { [EVERYTHING]: text(`\uFEFF${PAGE}`) },
    has: ['Condition/c1'],
  },
  {
    what: 'JSON that is called HTML',
    routes: { [EVERYTHING]: text(PAGE, { 'content-type': 'text/html' }) },
    has: [],
    says: /with text\/html instead of FHIR JSON/,
  },
  {
    what: 'an element that is named twice',
    routes: {
      [EVERYTHING]: text(PAGE.replace('"id":"c1"', '"id":"c0","id":"c1"')),
    },
    has: [],
    says: /with JSON that names an element twice/,
  },
  {
    what: 'gzip that is cut',
    routes: {
      [EVERYTHING]: text(gzipSync(PAGE).subarray(0, 40), {
        'content-encoding': 'gzip',
      }),
    },
    has: [],
    says: /Patient\/\$everything|everything/,
  },
  {
    what: 'a page that is cut behind its first half',
    routes: {
      [EVERYTHING]: {
        write(response) {
          response.writeHead(200, {
            'content-type': 'application/fhir+json',
            'content-length': PAGE.length,
          });
          response.write(PAGE.slice(0, 50));
          setTimeout(() => response.destroy(), 20);
        },
      },
    },
    has: [],
    says: /everything/,
  },
  {
    what: 'a page of another patient',
    routes: {
      [EVERYTHING]: {
        json: bundle([
          { ...adaAtSource, id: 'p9' },
          condition('c1', 'Patient/p9'),
        ]),
      },
    },
    has: [],
    says: /another/,
  },
  {
    what: 'resources without a valid id',
    routes: { [EVERYTHING]: { json: bundle([c1, { ...condition('a b') }]) } },
    has: ['Condition/c1'],
    says: /1 resource without a valid id/,
  },
];

test.each(SERVERS)(
  '$what: the query is complete or says what is missing',
  async ({ routes, others, has, says }) => {
    const source = await new FakeSource({
      'GET metadata': { status: 404 },
      'POST Patient/$match': { json: bundle([adaAtSource]) },
      [EVERYTHING]: { json: bundle([c1]) },
      ...routes,
    }).start();
    if (typeof others === 'function') {
      for (const method of ['GET', 'POST'])
        for (const path of searchedTypesOf('hie').flatMap((type) => [
          type,
          `${type}/_search`,
        ]))
          source.routes[`${method} ${path}`] ??= others;
    } else if (others !== undefined) source.replyToOthers = others;
    const { accountId } = await environment.addAccount();
    const patientId = await environment.addPatient(accountId, {}, ada);
    const requestId = await environment.addQuery(accountId, patientId, ['hie']);
    const connector = createFhirConnector({
      source: 'hie',
      baseUrl: source.baseUrl,
      auth: { kind: 'none' },
    });
    const { askSource } = environment.activities(connector);

    const failure: unknown = await runActivity(
      askSource,
      stepOf(accountId, requestId, 'hie'),
    ).then(
      () => undefined,
      (error: unknown) => error,
    );

    const { resources, told } = await environment.outcome(accountId, requestId);
    const said = [
      ...told,
      ...(failure instanceof Error ? [failure.message] : []),
    ].join('\n');
    const names = resources.map(
      ({ resource_type, source_id }) => `${resource_type}/${source_id}`,
    );
    expect(
      names.filter((name) => !name.startsWith('Patient/')).sort(),
      said,
    ).toEqual(has);
    if (says !== undefined) expect(said).toMatch(says);
    else {
      expect(failure, said).toBeUndefined();
      expect(said).not.toMatch(/^(incomplete|failed)/m);
    }
    // Nothing that a server says of a person is repeated.
    expect(said).not.toMatch(/lovelace/i);
  },
);
