import { describe, expect } from 'vitest';
import { checkSource } from '../../../src/exchange/sources/connectors/check-source.ts';
import type { SourcePage } from '../../../src/exchange/sources/connectors/connector.ts';
import {
  resolveSourceConfig,
  type SourceConfig,
} from '../../../src/exchange/sources/connectors/source-config.ts';
import {
  ada,
  adaAtSource,
  allOf,
  bundle,
  condition,
  connect,
  FakeSource,
  idsOf,
  knowsAda,
  never,
  type Routes,
  sourceTest,
} from '../../support/fake-source.ts';

/**
 * A server that is a Document Responder of IHE MHD, as its guide states it, and
 * a supplier of patients.
 */
const responder = (rest: object = {}, documents: object = {}) => ({
  json: {
    resourceType: 'CapabilityStatement',
    instantiates: [
      'https://profiles.ihe.net/ITI/MHD/CapabilityStatement/IHE.MHD.DocumentResponder',
    ],
    rest: [
      {
        mode: 'server',
        resource: [
          {
            type: 'Patient',
            interaction: [{ code: 'search-type' }],
            searchParam: [{ name: 'birthdate' }],
          },
          {
            type: 'DocumentReference',
            interaction: [{ code: 'read' }, { code: 'search-type' }],
            searchParam: [{ name: 'patient' }, { name: 'status' }],
            ...documents,
          },
          { type: 'Binary', interaction: [{ code: 'read' }] },
        ],
        operation: [{ name: 'PDQm $Match' }],
      },
    ],
    ...rest,
  },
});

const document = (id: string, url: string, status = 'current') => ({
  resourceType: 'DocumentReference',
  id,
  status,
  subject: { reference: 'Patient/p1' },
  content: [{ attachment: { contentType: 'text/xml', url } }],
});
const cda = {
  text: '<ClinicalDocument/>',
  headers: { 'content-type': 'text/xml' },
};
const listed = (
  current: unknown[],
  superseded: unknown[] = [],
  next?: string,
): Routes => ({
  'POST DocumentReference/_search': ({ body }) =>
    body.includes('status=current')
      ? { json: bundle(current, next) }
      : { json: bundle(superseded) },
});

const test = sourceTest.extend('routes', {
  ...knowsAda,
  'GET metadata': responder(),
  'POST Patient/_search': { json: bundle([adaAtSource]) },
});
const contentsOf = (pages: SourcePage[]) =>
  pages.flatMap(({ attachments }) =>
    attachments.map(({ sourceDocumentId }) => sourceDocumentId),
  );
const searches = (source: FakeSource) =>
  source.askedFor('POST DocumentReference/_search').map(({ body }) => body);

describe('a network that has documents only', () => {
  test('is asked for the documents of the patient by status, and each current one is fetched', async ({
    source,
  }) => {
    source.serve({
      ...listed(
        [document('d1', 'Binary/b1')],
        [document('d0', 'Binary/b0', 'superseded')],
        '?page=2',
      ),
      'GET DocumentReference/_search?page=2': {
        json: bundle([document('d2', 'Binary/b2')]),
      },
      'GET Binary/b1': cda,
      'GET Binary/b2': {
        text: '%PDF-1.7',
        headers: { 'content-type': 'application/pdf' },
      },
    });
    const pages = await source.collect();
    expect(idsOf(pages).filter((name) => name.startsWith('Document'))).toEqual([
      'DocumentReference/d1',
      'DocumentReference/d2',
      'DocumentReference/d0',
    ]);
    expect(contentsOf(pages)).toEqual(['d1', 'd2']);
    expect(
      pages.flatMap(({ attachments }) =>
        attachments.map(({ contentType }) => contentType),
      ),
    ).toEqual(['text/xml', 'application/pdf']);
    expect(searches(source)).toEqual([
      'patient=Patient%2Fp1&status=current&_count=200',
      'patient=Patient%2Fp1&status=superseded&_count=200',
    ]);
    expect(pages.at(-1)?.next).toBeNull();
  });

  test.for<[string, object, object]>([
    [
      'the guide that it follows',
      {
        instantiates: undefined,
        implementationGuide: ['https://profiles.ihe.net/ITI/MHD'],
      },
      {},
    ],
    [
      'the profile of its documents',
      { instantiates: undefined },
      {
        profile:
          'https://profiles.ihe.net/ITI/MHD/StructureDefinition/IHE.MHD.Query.Minimal.DocumentReference',
      },
    ],
    [
      'a profile as versions before 4 named it',
      { instantiates: undefined },
      {
        supportedProfile: [
          'http://ihe.net/fhir/StructureDefinition/IHE_MHD_Query_Comprehensive_DocumentReference',
        ],
      },
    ],
  ])('is known by %s', async ([_, rest, documents], { source }) => {
    source.serve({ ...listed([]), 'GET metadata': responder(rest, documents) });
    await source.collect();
    expect(searches(source)[0]).toContain('status=current');
  });

  test.for<[string, object, object]>([
    [
      'only receives documents',
      {
        instantiates: [
          'https://profiles.ihe.net/ITI/MHD/CapabilityStatement/IHE.MHD.DocumentRecipient',
        ],
      },
      {},
    ],
    ['cannot be searched for them', {}, { interaction: [{ code: 'read' }] }],
    ['does not name the profile', { instantiates: undefined }, {}],
  ])(
    'is not taken for one if it %s',
    async ([_, rest, documents], { source }) => {
      source.serve({
        ...listed([]),
        'GET metadata': responder(rest, documents),
      });
      await source.collect();
      expect(searches(source).join()).not.toContain('status=');
    },
  );

  test('is taken for one, or not, as the connection says', async ({
    source,
  }) => {
    source.serve({
      ...listed([]),
      'GET metadata': responder({ instantiates: undefined }),
    });
    await source.collect({ documentSearch: true });
    expect(searches(source)).toHaveLength(2);
    source.routes['GET metadata'] = responder();
    await source.collect({ documentSearch: false });
    expect(searches(source).slice(2)).toEqual([
      'patient=Patient%2Fp1&_count=200',
    ]);
  });

  test('that refuses the search fails the query: it must not seem to have no documents', async ({
    source,
  }) => {
    source.serve({
      'POST DocumentReference/_search': { status: 400 },
      'GET DocumentReference': { status: 400 },
    });
    await expect(source.collect()).rejects.toMatchObject({
      kind: 'refused',
      message: 'hie answered 400 to DocumentReference/_search',
    });
  });

  test('that knows no superseded documents, and one that ignores the status, are collected without a gap', async ({
    source,
  }) => {
    const both = [
      document('d1', 'Binary/b1'),
      document('d0', 'Binary/b0', 'superseded'),
    ];
    source.serve({
      ...listed(both, both),
      'GET Binary/b1': cda,
      'GET Binary/b0': { status: 410 },
    });
    const ignoring = await source.collect();
    expect(contentsOf(ignoring)).toEqual(['d1']);
    expect(
      ignoring.reduce(
        (sum, { skippedAttachments }) => sum + skippedAttachments,
        0,
      ),
    ).toBe(0);
    source.routes['POST DocumentReference/_search'] = ({ body }) =>
      body.includes('superseded')
        ? { status: 400 }
        : { json: bundle([document('d1', 'Binary/b1')]) };
    source.routes['GET DocumentReference'] = { status: 400 };
    expect(contentsOf(await source.collect())).toEqual(['d1']);
  });

  test('whose superseded documents are in the list itself has them stored, and fetches none', async ({
    source,
  }) => {
    const inline = (id: string, status: string) => ({
      ...document(id, '', status),
      content: [
        {
          attachment: {
            contentType: 'text/plain',
            data: Buffer.from(id).toString('base64'),
          },
        },
      ],
    });
    source.serve(
      listed([inline('d1', 'current')], [inline('d0', 'superseded')]),
    );
    expect(contentsOf(await source.collect())).toEqual(['d1', 'd0']);
  });

  test('continues after a crash with what was not fetched yet', async ({
    source,
  }) => {
    source.serve({
      ...listed([document('d1', 'Binary/b1'), document('d2', 'Binary/b2')]),
      'GET Binary/b1': cda,
      'GET Binary/b2': cda,
    });
    const pages = await source.collect();
    const index = pages.findIndex(({ resources }) =>
      resources.some(({ id }) => id === 'd1'),
    );
    const stored: unknown = JSON.parse(JSON.stringify(pages[index]?.next));
    const rest = await allOf(
      connect(source).resume(stored as Record<string, unknown>, never),
    );
    expect(contentsOf(rest)).toEqual(['d1', 'd2']);
  });
});

test('a check says that the server lists documents, and how many of the patient', async ({
  source,
}) => {
  source.serve(
    listed(
      [document('d1', 'Binary/b1'), document('d2', 'Binary/b2')],
      [],
      '?page=2',
    ),
  );
  const config = resolveSourceConfig({
    source: 'hie',
    baseUrl: source.baseUrl,
    auth: { kind: 'none' },
  });
  const check = async () =>
    (await checkSource(config, { sign: async () => '' }, ada))
      .slice(1)
      .map(({ what, works, message }) => `${works} ${what}: ${message}`);
  expect(await check()).toEqual([
    'true metadata: the server answers, without its FHIR version; it has Patient/$match (IHE PDQm), document search (IHE MHD)',
    'true patient: the source knows this patient (1 record)',
    'true documents: the server lists 2 current documents of this patient on its first page',
  ]);
  source.routes['POST DocumentReference/_search'] = { status: 403 };
  expect((await check()).at(-1)).toBe(
    'false documents: hie answered 403 to DocumentReference/_search',
  );
});

describe('a server that has $everything and lists documents', () => {
  const [server] = responder().json.rest;
  const withEverything = responder({
    rest: [
      { ...server, operation: [{ name: 'match' }, { name: 'everything' }] },
    ],
  });

  test('is asked for both, and no document is fetched twice', async ({
    source,
  }) => {
    const everything = {
      json: bundle([condition('c1'), document('d1', 'Binary/b1')]),
    };
    source.serveEverything(everything, {
      'GET metadata': withEverything,
      ...listed([document('d1', 'Binary/b1'), document('d2', 'Binary/b2')]),
      'GET Binary/b1': cda,
      'GET Binary/b2': cda,
    });
    const pages = await source.collect();
    expect(new Set(idsOf(pages))).toEqual(
      new Set(['Condition/c1', 'DocumentReference/d1', 'DocumentReference/d2']),
    );
    expect(contentsOf(pages)).toEqual(['d1', 'd2']);
    expect(source.askedFor('GET Binary/b1')).toHaveLength(1);
  });

  test('is not asked for documents that it cannot search', async ({
    source,
  }) => {
    const unsearchable = responder(
      {
        rest: [
          { ...server, operation: [{ name: 'match' }, { name: 'everything' }] },
        ],
      },
      {},
    );
    const [first] = unsearchable.json.rest;
    for (const each of first?.resource ?? [])
      if (each.type === 'DocumentReference')
        each.interaction = [{ code: 'read' }];
    source.serveEverything(
      { json: bundle([condition('c1')]) },
      { 'GET metadata': unsearchable },
    );
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    expect(searches(source)).toEqual([]);
  });

  test('is asked for no documents by a source that has none', async ({
    source,
  }) => {
    source.serveEverything(
      { json: bundle([]) },
      { 'GET metadata': withEverything },
    );
    await source.collect({ source: 'pharmacy' });
    expect(searches(source)).toEqual([]);
  });
});

describe('a document at another host', () => {
  async function withRepository(
    source: FakeSource,
    config: (origin: string) => Partial<SourceConfig>,
  ) {
    const repository = await new FakeSource({ 'GET d1.xml': cda }).start();
    source.serve(listed([document('d1', `${repository.baseUrl}/d1.xml`)]));
    const auth = { kind: 'bearer', token: 'secret-1' } as const;
    const pages = await source.collect({ auth, ...config(repository.origin) });
    return { pages, repository };
  }

  test('is left out with the address and the setting in the reason, and nothing is sent there', async ({
    source,
  }) => {
    const { pages, repository } = await withRepository(source, () => ({}));
    const page = pages.find(({ skippedAttachments }) => skippedAttachments > 0);
    expect(page?.skippedReasons).toEqual([
      `hie refers to documents at ${repository.origin}, which is not one of its configured origins: name it in allowedOrigins of HIE_SETTINGS, or in ownBaseUrls of HIE_SETTINGS if the server calls itself so`,
    ]);
    expect(repository.asked).toEqual([]);
  });

  test('is fetched once the origin is allowed, with the token only if that is allowed too', async ({
    source,
  }) => {
    const allowed = await withRepository(source, (origin) => ({
      allowedOrigins: [origin],
    }));
    expect(contentsOf(allowed.pages)).toEqual(['d1']);
    expect(allowed.repository.asked[0]?.headers.authorization).toBeUndefined();
    const trusted = await withRepository(source, (origin) => ({
      tokenOrigins: [origin],
    }));
    expect(trusted.repository.asked[0]?.headers.authorization).toBe(
      'Bearer secret-1',
    );
  });

  test('that cannot be fetched is counted, with what the server answered', async ({
    source,
  }) => {
    source.serve({
      ...listed([document('d1', 'Binary/b1')]),
      'GET Binary/b1': { status: 404 },
    });
    const pages = await source.collect();
    expect(
      pages.find(({ skippedAttachments }) => skippedAttachments > 0),
    ).toMatchObject({
      skippedAttachments: 1,
      skippedReasons: ['hie answered 404 to a document'],
    });
  });
});
