import { expect } from 'vitest';
import {
  installTracer,
  type SpanStart,
} from '../../../src/lib/tracing/spans.ts';
import {
  ada,
  adaAtSource,
  allOf,
  bundle,
  collectAtOnce,
  condition,
  connect,
  idsOf,
  knowsAda,
  never,
  sourceTest,
} from '../../support/fake-source.ts';

const test = sourceTest.extend('routes', {});

test('a source that answers at once is asked for the patient and for everything, once each', async ({
  source,
}) => {
  source.serve({
    ...knowsAda,
    'GET Patient/p1/$everything': {
      json: bundle([adaAtSource, condition('c1')]),
    },
  });
  const pages = await source.collect();
  expect(idsOf(pages)).toEqual(['Patient/p1', 'Condition/c1']);
  expect(pages[0]?.next).toBeNull();
  expect(JSON.parse(pages[0]?.raw.bytes.toString() ?? '')).toMatchObject({
    resourceType: 'Bundle',
  });
  expect(source.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET metadata',
    'POST Patient/$match',
    'GET Patient/p1/$everything?_count=200',
  ]);
});

test('a source gets the trace that asks it, and nothing else of it', async ({
  source,
}) => {
  const exported: SpanStart[] = [];
  const span = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    set: () => undefined,
    end: () => undefined,
  };
  const traceparent = `00-${span.traceId}-${span.spanId}-01`;
  installTracer({
    start: (started) => {
      exported.push(started);
      return { ...span, traceparent };
    },
    flush: async () => undefined,
    stop: async () => undefined,
  });
  try {
    source.serve({
      ...knowsAda,
      'GET Patient/p1/$everything': { json: bundle([adaAtSource]) },
    });
    await source.collect();
  } finally {
    installTracer(undefined);
  }
  expect(source.asked.map(({ headers }) => headers.traceparent)).toEqual([
    traceparent,
    traceparent,
    traceparent,
  ]);
  expect(
    exported.map(({ attributes }) => attributes?.['exchange.call']),
  ).toContain('Patient/$match');
  expect(JSON.stringify(exported)).not.toMatch(/p1|127\.0\.0\.1/);
});

test('pages are followed, relative links too, and a crash goes on after the recorded page', async ({
  source,
}) => {
  source.serve({
    ...knowsAda,
    'GET Patient/p1/$everything': {
      json: bundle([condition('c1')], '?page=2'),
    },
    'GET Patient/p1/$everything?page=2': {
      json: bundle([condition('c2')], 'Condition?page=3'),
    },
    'GET Condition?page=3': () => ({
      json: bundle([condition('c3')], `${source.baseUrl}/Condition?page=4`),
    }),
    'GET Condition?page=4': { json: bundle([condition('c4')]) },
  });
  const connector = connect(source);
  const pages = await collectAtOnce(connector);
  expect(idsOf(pages)).toEqual([
    'Condition/c1',
    'Condition/c2',
    'Condition/c3',
    'Condition/c4',
  ]);
  const recorded: unknown = JSON.parse(JSON.stringify(pages[1]?.next));
  const rest = await allOf(
    connect(source).resume(recorded as Record<string, unknown>, never),
  );
  expect(idsOf(rest)).toEqual(['Condition/c3', 'Condition/c4']);
});

test('demographics stand in no address', async ({ source }) => {
  source.serve({ 'POST Patient/_search': { json: bundle([]) } });
  expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
  expect(source.askedFor('POST Patient/_search')[0]?.body).toContain(
    'birthdate=1985-12-10',
  );
  expect(source.asked.map(({ path }) => path).join(' ')).not.toMatch(
    /Lovelace|1985/i,
  );
});

test('a source without $match and $everything is searched by form, then by type', async ({
  source,
}) => {
  source.serve({
    'POST Patient/_search': { json: bundle([adaAtSource]) },
    'POST Condition/_search': { json: bundle([condition('c1')]) },
    'GET Immunization': {
      json: bundle([
        {
          resourceType: 'Immunization',
          id: 'i1',
          patient: { reference: 'Patient/p1' },
        },
      ]),
    },
  });
  const connector = connect(source);
  expect(idsOf(await collectAtOnce(connector))).toEqual([
    'Patient/p1',
    'Condition/c1',
    'Immunization/i1',
  ]);
  await connector.begin(ada, {}, never);
  // What it lacks was learnt the first time.
  expect(source.askedFor('POST Patient/$match')).toHaveLength(1);
  expect(source.askedFor('GET Patient/p1/$everything')).toHaveLength(1);
});

test('a statement of capabilities saves the probing, and the searches for types the source lacks except the needed ones', async ({
  source,
}) => {
  source.serve({
    'GET metadata': {
      json: {
        resourceType: 'CapabilityStatement',
        rest: [
          {
            mode: 'server',
            resource: [
              {
                type: 'Patient',
                interaction: [{ code: 'search-type' }],
                operation: [{ name: 'summary' }],
              },
              {
                type: 'Condition',
                interaction: [{ code: 'search-type' }],
                searchParam: [{ name: 'subject', type: 'reference' }],
              },
            ],
          },
        ],
      },
    },
    'POST Patient/_search': { json: bundle([adaAtSource]) },
    'POST Condition/_search': { json: bundle([condition('c1')]) },
  });
  const connector = connect(source);
  await collectAtOnce(connector);
  const pages = await collectAtOnce(connector);
  expect(idsOf(pages)).toEqual(['Patient/p1', 'Condition/c1']);
  expect(source.askedFor('POST Patient/$match')).toHaveLength(0);
  expect(source.askedFor('GET metadata')).toHaveLength(1);
  expect(source.askedFor('POST Condition/_search')[0]?.body).toContain(
    'subject=Patient%2Fp1',
  );
  expect(source.askedFor('POST Goal')).toHaveLength(0);
  expect(source.askedFor('POST Observation').length).toBeGreaterThan(0);
  expect(pages.at(-1)?.reported).toEqual({
    gaps: [
      expect.stringMatching(
        /^the source could not be asked for AllergyIntolerance, .*Observation/,
      ),
    ],
    warnings: [],
  });
});

test('a type that the source forbids is named as missing, and the others are collected', async ({
  source,
}) => {
  source.serve({
    'POST Patient/_search': { json: bundle([adaAtSource]) },
    'POST Condition/_search': { json: bundle([condition('c1')]) },
    'POST AllergyIntolerance/_search': { status: 403 },
    'GET AllergyIntolerance': { json: bundle([]) },
    'POST Observation/_search': { status: 403 },
    'GET Observation': { status: 403 },
  });
  const pages = await source.collect();
  expect(idsOf(pages)).toEqual(['Patient/p1', 'Condition/c1']);
  const { gaps = [] } = pages.at(-1)?.reported ?? {};
  expect(gaps).toContain(
    'the source forbids us (403) to search for Observation',
  );
  expect(source.askedFor('GET AllergyIntolerance')).toHaveLength(1);
});

test('a source that forbids every search of a record has denied access', async ({
  source,
}) => {
  source.serve({
    'GET metadata': {},
    'POST Patient/_search': ({ body }) =>
      body.includes('_id') ? { status: 403 } : { json: bundle([adaAtSource]) },
  });
  source.replyToOthers = { status: 403 };
  await expect(source.collect()).rejects.toMatchObject({ kind: 'denied' });
});

test('a record is not called complete when the source lists only Patient and serves only that', async ({
  source,
}) => {
  const statement = {
    resourceType: 'CapabilityStatement',
    rest: [
      {
        mode: 'server',
        resource: [{ type: 'Patient', interaction: [{ code: 'search-type' }] }],
      },
    ],
  };
  source.serve({
    'GET metadata': { json: statement },
    'POST Patient/_search': { json: bundle([adaAtSource]) },
    'GET Observation': {
      json: bundle([
        {
          resourceType: 'Observation',
          id: 'o1',
          subject: { reference: 'Patient/p1' },
        },
      ]),
    },
  });
  const pages = await source.collect();
  expect(idsOf(pages)).toEqual(['Patient/p1', 'Observation/o1']);
  const { gaps = [], warnings = [] } = pages.at(-1)?.reported ?? {};
  expect(gaps.join()).toContain(
    'could not be asked for Condition, AllergyIntolerance, Encounter',
  );
  expect(gaps.join()).not.toContain('Observation');
  expect(warnings.join()).toMatch(/no search for .* and \d+ more/);
});

test.for(['5.0.0', '3.0.2', '4.6.0'])(
  'a server that speaks FHIR %s is refused',
  async (fhirVersion, { source }) => {
    source.serve({
      'GET metadata': {
        json: { resourceType: 'CapabilityStatement', fhirVersion },
      },
      'POST Patient/$match': { json: bundle([adaAtSource]) },
    });
    await expect(source.collect()).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(`speaks FHIR ${fhirVersion}`),
    });
  },
);

test('an answer that calls itself R5 is refused', async ({ source }) => {
  source.serve({
    'POST Patient/$match': { json: bundle([adaAtSource]) },
    'GET Patient/p1/$everything': {
      headers: { 'content-type': 'application/fhir+json; fhirVersion=5.0' },
      json: bundle([adaAtSource]),
    },
  });
  await expect(source.collect()).rejects.toMatchObject({ kind: 'refused' });
});

test('a source that supports nothing of this is refused, with a reason', async ({
  source,
}) => {
  source.serve({ 'POST Patient/_search': { json: bundle([adaAtSource]) } });
  await expect(source.collect({ source: 'lab' })).rejects.toMatchObject({
    kind: 'refused',
    message: 'lab supports neither $everything nor any search by type',
  });
  source.routes = {};
  await expect(source.collect()).rejects.toMatchObject({
    kind: 'refused',
    message: 'hie supports neither Patient/$match nor a search for Patients',
  });
});

test('the pharmacy is asked for medications, and again without _type when it does not know that', async ({
  source,
}) => {
  const request = {
    resourceType: 'MedicationRequest',
    id: 'm1',
    subject: { reference: 'Patient/p1' },
  };
  source.serve({
    ...knowsAda,
    'GET Patient/p1/$everything': ({ path }) =>
      path.includes('_type')
        ? { status: 400 }
        : { json: bundle([request, condition('c1')]) },
  });
  const pages = await source.collect({ source: 'pharmacy' });
  expect(idsOf(pages)).toEqual(['MedicationRequest/m1']);
  expect(pages[0]?.misattributedCount).toBe(0);
});
