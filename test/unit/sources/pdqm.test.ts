import { describe, expect } from 'vitest';
import { checkSource } from '../../../src/exchange/sources/connectors/check-source.ts';
import { resolveSourceConfig } from '../../../src/exchange/sources/connectors/source-config.ts';
import {
  ada,
  adaAtSource,
  bundle,
  connect,
  type FakeSource,
  idsOf,
  never,
  type Reply,
  sourceTest,
} from '../../support/fake-source.ts';

/**
 * A server that is a Patient Demographics Supplier of IHE PDQm, as its guide
 * states it (ITI-119).
 */
const supplier = {
  resourceType: 'CapabilityStatement',
  fhirVersion: '4.0.1',
  instantiates: [
    'https://profiles.ihe.net/ITI/PDQm/CapabilityStatement/IHE.PDQm.PatientDemographicsSupplier',
  ],
  rest: [
    {
      mode: 'server',
      resource: [
        {
          type: 'Patient',
          interaction: [{ code: 'read' }, { code: 'search-type' }],
          searchParam: [{ name: 'birthdate' }],
        },
      ],
      operation: [
        {
          name: 'PDQm $Match',
          definition:
            'https://profiles.ihe.net/ITI/PDQm/OperationDefinition/PDQmMatch',
        },
      ],
    },
  ],
};
const other = {
  rest: [
    {
      mode: 'server',
      resource: [{ type: 'Patient' }],
      operation: [{ name: 'process-message' }],
    },
  ],
};
const outcome = {
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'warning', code: 'informational' }],
};

const test = sourceTest.extend('routes', {
  'GET metadata': { json: supplier },
});
const asked = (source: FakeSource, what: string) =>
  source.askedFor(what).length;

describe('a supplier of PDQm', () => {
  test('is asked by $match with the person, without onlyCertainMatches, and without empty lists', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': { json: bundle([adaAtSource, outcome]) },
    });
    const unidentified = { ...ada, personalIdentifiers: [] };
    expect((await connect(source).begin(unidentified, {}, never)).kind).toBe(
      'ready',
    );
    const sent: unknown = JSON.parse(
      source.askedFor('POST Patient/$match')[0]?.body ?? '',
    );
    expect(sent).toMatchObject({
      resourceType: 'Parameters',
      parameter: [{ name: 'resource' }, { name: 'count' }],
    });
    expect(JSON.stringify(sent)).not.toMatch(/onlyCertainMatches|\[\]/);
    expect(asked(source, 'POST Patient/_search')).toBe(0);
  });

  test.for<[string, object]>([
    ['only by its operation', { ...supplier, instantiates: [] }],
    [
      'only by the definition of its operation',
      {
        ...other,
        rest: [
          {
            ...other.rest[0],
            operation: [
              {
                name: 'demographics',
                definition:
                  'https://profiles.ihe.net/ITI/PDQm/OperationDefinition/PDQmMatch',
              },
            ],
          },
        ],
      },
    ],
    ['only by what it instantiates', { ...supplier, rest: other.rest }],
    [
      'by the name of a national guide',
      {
        ...other,
        instantiates: [
          'http://fhir.ch/ig/CapabilityStatement/CH.PDQm.Supplier',
        ],
      },
    ],
  ])('is known %s', async ([_, statement], { source }) => {
    source.serve({
      'GET metadata': {
        json: { ...statement, resourceType: 'CapabilityStatement' },
      },
      'POST Patient/$match': { json: bundle([adaAtSource]) },
    });
    await source.begin();
    expect(asked(source, 'POST Patient/$match')).toBe(1);
  });

  test('who answers two people of one name is asked for neither unless one is proven to be ours', async ({
    source,
  }) => {
    const namesake = { ...adaAtSource, address: [{ postalCode: '90210' }] };
    source.serve({
      'POST Patient/$match': {
        json: bundle([namesake, { ...namesake, id: 'p2' }]),
      },
    });
    expect(await source.begin()).toMatchObject({ kind: 'unknown-patient' });
    source.routes['POST Patient/$match'] = {
      json: bundle([{ ...namesake, id: 'p2' }, adaAtSource]),
    };
    expect(await source.begin()).toMatchObject({ kind: 'ready' });
    expect(asked(source, 'GET Patient/p2')).toBe(0);
  });
});

describe('what the connection says', () => {
  const never404 = {
    'GET metadata': { json: { ...other, resourceType: 'CapabilityStatement' } },
  };

  test('makes a server be asked by $match that does not state it', async ({
    source,
  }) => {
    source.serve({
      ...never404,
      'POST Patient/$match': { json: bundle([adaAtSource]) },
    });
    await source.begin({ patientMatch: true });
    expect(asked(source, 'POST Patient/$match')).toBe(1);
  });

  test('keeps a server from being asked by $match that states it', async ({
    source,
  }) => {
    source.serve({ 'POST Patient/_search': { json: bundle([adaAtSource]) } });
    await source.begin({ patientMatch: false });
    expect([
      asked(source, 'POST Patient/$match'),
      asked(source, 'POST Patient/_search'),
    ]).toEqual([0, 1]);
  });
});

describe('a $match that fails', () => {
  const found = { 'POST Patient/_search': { json: bundle([adaAtSource]) } };
  const nobody = { 'POST Patient/_search': { json: bundle([]) } };

  test.for<[number, string]>([
    [
      500,
      'hie answered 500 to Patient/$match; the patient was searched for instead',
    ],
    [
      503,
      'hie answered 503 to Patient/$match; the patient was searched for instead',
    ],
    [
      403,
      'hie answered 403 to Patient/$match; the patient was searched for instead',
    ],
    [
      422,
      'hie answered 422 to Patient/$match; the patient was searched for instead',
    ],
  ])(
    'with %s is followed by searches, and a notice',
    async ([status, notice], { source }) => {
      source.serve({ 'POST Patient/$match': { status }, ...found });
      expect(await source.begin()).toMatchObject({ kind: 'ready', notice });
      expect(idsOf(await source.collect())).toEqual(['Patient/p1']);
    },
  );

  test.for<[string, Reply]>([
    ['something that is no Bundle', { json: adaAtSource }],
    ['broken JSON', { text: '{' }],
    ['a dropped connection', { write: (response) => response.destroy() }],
  ])('with %s is followed by searches too', async ([_, reply], { source }) => {
    source.serve({ 'POST Patient/$match': reply, ...found });
    expect(await source.begin()).toMatchObject({
      kind: 'ready',
      notice: expect.stringContaining('Patient/$match'),
    });
  });

  test.for([500, 503])(
    'with %s, and searches that find nobody, is a bad answer to be asked again',
    async (status, { source }) => {
      source.serve({ 'POST Patient/$match': { status }, ...nobody });
      await expect(source.begin()).rejects.toMatchObject({
        kind: 'bad-answer',
        message: `hie answered ${status} to Patient/$match, and its searches do not find the patient`,
      });
    },
  );

  test('because it is refused, and searches that find nobody, leave the person unknown, with a notice', async ({
    source,
  }) => {
    source.serve({ 'POST Patient/$match': { status: 422 }, ...nobody });
    expect(await source.begin()).toEqual({
      kind: 'unknown-patient',
      notice:
        'hie answered 422 to Patient/$match; the patient was searched for instead',
    });
  });

  test('at a server without searches is the failure itself', async ({
    source,
  }) => {
    source.serve({ 'POST Patient/$match': { status: 500 } });
    await expect(source.begin()).rejects.toMatchObject({
      kind: 'transport',
      message: 'hie answered 500 to Patient/$match',
    });
  });

  test.for<[number, string]>([
    [401, 'denied'],
    [429, 'rate-limited'],
  ])(
    'with %s is not followed by searches: they would fail as well',
    async ([status, kind], { source }) => {
      source.serve({ 'POST Patient/$match': { status }, ...found });
      await expect(source.begin()).rejects.toMatchObject({ kind });
      expect(asked(source, 'POST Patient/_search')).toBe(0);
    },
  );

  test.for(['suppressed', 'business-rule'])(
    'because of the patient (%s) is not followed by searches',
    async (code, { source }) => {
      const json = {
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'error', code }],
      };
      source.serve({ 'POST Patient/$match': { status: 403, json }, ...found });
      await expect(source.begin()).rejects.toMatchObject({ kind: 'refused' });
      expect(asked(source, 'POST Patient/_search')).toBe(0);
    },
  );

  test('because the source claims somebody else to be ours, is not followed by searches', async ({
    source,
  }) => {
    const somebody = { ...adaAtSource, id: 'p9', birthDate: '1971-01-01' };
    source.serve({
      'POST Patient/$match': { json: bundle([somebody]) },
      ...found,
    });
    await expect(source.begin()).rejects.toMatchObject({ kind: 'refused' });
    expect(asked(source, 'POST Patient/_search')).toBe(0);
  });
});

test('a check says in words how patients are looked up, and what $match answered', async ({
  source,
}) => {
  source.serve({
    'POST Patient/$match': { status: 403 },
    'POST Patient/_search': { json: bundle([adaAtSource]) },
  });
  const config = resolveSourceConfig({
    source: 'hie',
    baseUrl: source.baseUrl,
    auth: { kind: 'none' },
  });
  const findings = await checkSource(config, { sign: async () => '' }, ada);
  expect(
    findings.map(({ what, works, message }) => `${works} ${what}: ${message}`),
  ).toEqual([
    'true token: requests carry none',
    'true metadata: the server speaks FHIR 4.0.1; it has Patient/$match (IHE PDQm)',
    'true patient: the source knows this patient (1 record); hie answered 403 to Patient/$match; the patient was searched for instead',
  ]);
});
