import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { describe, expect } from 'vitest';
import {
  SourceFailure,
  type SourcePage,
} from '../../../src/exchange/sources/connectors/connector.ts';
import type { SourceConfig } from '../../../src/exchange/sources/connectors/source-config.ts';
import {
  ada,
  allOf,
  bundle,
  connect,
  FakeSource,
  never,
  type Reply,
  type Routes,
  sourceTest as test,
} from '../../support/fake-source.ts';

const document = (attachment: unknown, id = 'd1') => ({
  resourceType: 'DocumentReference',
  id,
  subject: { reference: 'Patient/p1' },
  content: [{ attachment }],
});

async function pageWith(
  source: FakeSource,
  documents: unknown[],
  routes: Routes = {},
  config: Partial<SourceConfig> = {},
): Promise<SourcePage> {
  source.serveEverything({ json: bundle(documents) }, routes);
  const pages = await source.collect(config);
  const [page] = pages;
  if (page === undefined) throw new Error('no page');
  return {
    ...page,
    attachments: pages.flatMap(({ attachments }) => attachments),
    skippedAttachments: pages.reduce(
      (sum, { skippedAttachments }) => sum + skippedAttachments,
      0,
    ),
  };
}

const pdf = { contentType: 'application/pdf', url: 'Binary/b1' };
const asPdf: Reply = {
  text: '%PDF-1.7',
  headers: { 'content-type': 'application/pdf' },
};

describe('a document', () => {
  test('comes as itself, with the type it really has', async ({ source }) => {
    const page = await pageWith(source, [document(pdf)], {
      'GET Binary/b1': asPdf,
    });
    expect(page.attachments).toEqual([
      {
        sourceDocumentId: 'd1',
        contentType: 'application/pdf',
        bytes: Buffer.from('%PDF-1.7'),
      },
    ]);
    expect(page.skippedAttachments).toBe(0);
  });

  test.for<[string, object]>([
    ['DiagnosticReport', { presentedForm: [pdf, { data: 'YQ==' }] }],
    ['Media', { content: pdf }],
    ['Communication', { payload: [{ contentAttachment: pdf }] }],
    ['Consent', { sourceAttachment: pdf }],
    [
      'QuestionnaireResponse',
      {
        item: [
          {
            item: [
              { answer: [{ item: [{ answer: [{ valueAttachment: pdf }] }] }] },
            ],
          },
        ],
      },
    ],
    [
      'DiagnosticReport',
      { contained: [{ resourceType: 'Media', id: 'm', content: pdf }] },
    ],
  ])('of a %s comes too, in %j', async ([resourceType, own], { source }) => {
    const resource = {
      resourceType,
      id: 'd1',
      [resourceType === 'Consent' ? 'patient' : 'subject']: {
        reference: 'Patient/p1',
      },
      ...own,
    };
    const routes = { 'GET Binary/b1': asPdf };
    const page = await pageWith(source, [resource], routes);
    expect(page.attachments).toContainEqual({
      sourceDocumentId: `${resourceType}/d1`,
      contentType: 'application/pdf',
      bytes: Buffer.from('%PDF-1.7'),
    });
    expect(page.skippedAttachments).toBe(0);
    const without = await pageWith(source, [resource], {
      'GET Binary/b1': { status: 404 },
    });
    expect(without.skippedAttachments).toBe(1);
  });

  test('is not the photo of a person', async ({ source }) => {
    const relative = {
      resourceType: 'RelatedPerson',
      id: 'r',
      patient: { reference: 'Patient/p1' },
      photo: [pdf],
    };
    const page = await pageWith(source, [relative]);
    expect([page.attachments, page.skippedAttachments]).toEqual([[], 0]);
  });

  test('is compared with the size and hash that the source states', async ({
    source,
  }) => {
    const bytes = Buffer.from('%PDF-1.7');
    const sha1 = createHash('sha1').update(bytes);
    const right = { size: bytes.length, hash: sha1.digest('base64') };
    const differing = async (
      fetched: object,
      inline: object = right,
      type = 'application/pdf',
    ) => {
      const data = bytes.toString('base64');
      source.serveEverything(
        {
          json: bundle([
            document({ ...pdf, ...fetched }),
            document({ contentType: type, data, ...inline }, 'd2'),
          ]),
        },
        { 'GET Binary/b1': asPdf },
      );
      const pages = await source.collect();
      return pages.reduce(
        (sum, { differingAttachments = 0 }) => sum + differingAttachments,
        0,
      );
    };
    expect(await differing(right)).toBe(0);
    expect(await differing({ size: 9 })).toBe(1);
    expect(await differing(right, { size: 7 })).toBe(1);
    const other = createHash('sha1').update('other').digest('base64');
    expect(await differing({ hash: other }, { hash: other })).toBe(2);
    // A hash of another kind, or a file that the source has converted.
    expect(await differing({ hash: 'c2hh' })).toBe(0);
    expect(await differing({ size: 9, contentType: 'text/html' })).toBe(0);
  });

  test('comes wrapped in a Binary, or inline', async ({ source }) => {
    const data = Buffer.from('<xml/>').toString('base64');
    const page = await pageWith(
      source,
      [
        document(pdf),
        document({ contentType: 'text/plain; charset=utf-8', data }, 'd2'),
      ],
      {
        'GET Binary/b1': {
          json: { resourceType: 'Binary', contentType: 'text/xml', data },
        },
      },
    );
    expect(
      page.attachments.map(({ sourceDocumentId, contentType, bytes }) => [
        sourceDocumentId,
        contentType,
        String(bytes),
      ]),
    ).toEqual([
      ['d2', 'text/plain', '<xml/>'],
      ['d1', 'text/xml', '<xml/>'],
    ]);
  });

  test('without a usable type keeps the one its reference names', async ({
    source,
  }) => {
    const page = await pageWith(source, [document(pdf)], {
      'GET Binary/b1': {
        text: 'x',
        headers: { 'content-type': 'application/octet-stream' },
      },
    });
    expect(page.attachments[0]?.contentType).toBe('application/pdf');
  });

  test('that failed once is asked for once more', async ({ source }) => {
    let asked = 0;
    const page = await pageWith(source, [document(pdf)], {
      'GET Binary/b1': () => {
        asked += 1;
        return asked === 1 ? { status: 503 } : asPdf;
      },
    });
    expect(page.attachments).toHaveLength(1);
  });

  test.for<[string, unknown, Reply]>([
    ['is gone', pdf, { status: 404 }],
    ['is refused', pdf, { status: 403 }],
    ['keeps failing', pdf, { status: 500 }],
    [
      'is too large',
      pdf,
      { text: 'x'.repeat(300_000), headers: { 'content-type': 'text/plain' } },
    ],
    ['has no address', { url: 'http://' }, {}],
    [
      'is a broken connection',
      pdf,
      { write: (response) => response.destroy() },
    ],
  ])(
    'that %s is skipped and counted, and the page stands',
    async ([_, attachment, reply], { source }) => {
      const documents = [
        document(attachment),
        document({ data: 'eA==' }, 'd2'),
      ];
      const page = await pageWith(
        source,
        documents,
        { 'GET Binary/b1': reply },
        { documentBytesMax: 200_000 },
      );
      expect(page.resources).toHaveLength(2);
      expect(page).toMatchObject({
        skippedAttachments: 1,
        attachments: [{ sourceDocumentId: 'd2' }],
      });
    },
  );

  test.for<[string, Reply]>([
    ['refuses our credentials', { status: 401 }],
    ['is down', { status: 503 }],
    ['limits us', { status: 429 }],
    ['breaks off', { write: (response) => response.destroy() }],
  ])(
    'is not skipped while the source %s: what came before is kept, and it comes later',
    async ([_, trouble], { source }) => {
      let isAway = true;
      const documents = [
        document({ url: 'Binary/b0' }, 'd0'),
        document(pdf, 'd1'),
      ];
      source.serveEverything(
        { json: bundle(documents) },
        {
          'GET Binary/b0': asPdf,
          'GET Binary/b1': () => (isAway ? trouble : asPdf),
          'GET DocumentReference/d1': () =>
            isAway ? trouble : { status: 404 },
        },
      );
      const pages: SourcePage[] = [];
      const reading = async (some: AsyncIterable<SourcePage>) => {
        for await (const page of some) pages.push(page);
      };
      const connector = connect(source);
      const begin = await connector.begin(ada, {}, never);
      if (begin.kind !== 'ready')
        throw new Error(`the source answered ${begin.kind}`);
      await expect(reading(begin.pages)).rejects.toThrow(SourceFailure);
      const names = () =>
        pages.flatMap(({ attachments }) =>
          attachments.map((each) => each.sourceDocumentId),
        );
      expect(names()).toEqual(['d0']);
      isAway = false;
      await reading(connector.resume(pages.at(-1)?.next ?? {}, never));
      expect(names()).toEqual(['d0', 'd1']);
      expect(
        pages.every(({ skippedAttachments }) => skippedAttachments === 0),
      ).toBe(true);
    },
  );

  test('at a foreign address is never asked for', async ({ source }) => {
    const foreign = await new FakeSource().start();
    const page = await pageWith(source, [
      document({ url: `${foreign.origin}/fhir/x` }),
    ]);
    expect(page).toMatchObject({ skippedAttachments: 1, attachments: [] });
    expect(foreign.asked).toEqual([]);
  });

  test('of another patient is not fetched', async ({ source }) => {
    const page = await pageWith(
      source,
      [{ ...document(pdf), subject: { reference: 'Patient/p9' } }],
      {
        'GET Binary/b1': asPdf,
      },
    );
    expect(page).toMatchObject({
      misattributedCount: 1,
      attachments: [],
      skippedAttachments: 0,
    });
    expect(source.askedFor('GET Binary')).toEqual([]);
  });

  test('is fetched, however many a page refers to, and a crash repeats none that is stored', async ({
    source,
  }) => {
    const documents = Array.from({ length: 130 }, (_, n) =>
      document({ url: `Binary/b${n}` }, `d${n}`),
    );
    const routes = Object.fromEntries(
      documents.map((_, n) => [`GET Binary/b${n}`, asPdf]),
    );
    source.serveEverything({ json: bundle(documents) }, routes);
    const pages = await source.collect();
    const ids = documents.map(({ id }) => id);
    const namesOf = (some: SourcePage[]) =>
      some.flatMap(({ attachments }) =>
        attachments.map(({ sourceDocumentId }) => sourceDocumentId),
      );
    expect(namesOf(pages)).toEqual(ids);
    source.asked.length = 0;
    const cursor = JSON.parse(JSON.stringify(pages[1]?.next)) as Record<
      string,
      unknown
    >;
    expect(namesOf(await allOf(connect(source).resume(cursor, never)))).toEqual(
      ids.slice(50),
    );
    expect(source.askedFor('GET Binary')).toHaveLength(80);
  });
});

const sizeOf = async (chunks: AsyncIterable<Buffer>) =>
  (await buffer(chunks)).length;

describe('a large document', () => {
  const parts = Array.from({ length: 200 }, (_, n) =>
    Buffer.alloc(64_000, n % 250),
  );
  const streamed = (
    onWritten: (response: ServerResponse) => void = (response) =>
      response.end(),
  ): Reply => ({
    write: (response) => {
      response.writeHead(200, { 'content-type': 'application/pdf' });
      for (const part of parts) response.write(part);
      onWritten(response);
    },
  });
  const largeOf = async (
    source: FakeSource,
    routes: Routes,
    config: Partial<SourceConfig> = {},
  ) => {
    const documents = [document(pdf), document({ url: 'Binary/b2' }, 'd2')];
    source.serveEverything(
      { json: bundle(documents) },
      { 'GET Binary/b2': asPdf, ...routes },
    );
    const begun = await source.begin(config);
    if (begun.kind !== 'ready') throw new Error(begun.kind);
    return begun.pages;
  };

  test('is streamed, not held, on a page of its own; the next document follows', async ({
    source,
  }) => {
    let sizeBytes = 0;
    const others: string[] = [];
    for await (const page of await largeOf(source, {
      'GET Binary/b1': streamed(),
    })) {
      for await (const chunk of page.largeAttachment?.chunks() ?? [])
        sizeBytes += chunk.length;
      others.push(
        ...page.attachments.map(({ sourceDocumentId }) => sourceDocumentId),
      );
    }
    expect(sizeBytes).toBe(200 * 64_000);
    expect(others).toEqual(['d2']);
  });

  test('that breaks off is read anew by a second reading', async ({
    source,
  }) => {
    let asked = 0;
    let breakOff = () => {};
    const pages = await largeOf(source, {
      'GET Binary/b1': () => {
        asked += 1;
        if (asked > 1) return streamed();
        return streamed((response) => {
          breakOff = () => response.destroy();
        });
      },
    });
    for await (const { largeAttachment } of pages) {
      if (largeAttachment === undefined) continue;
      breakOff();
      await expect(sizeOf(largeAttachment.chunks())).rejects.toMatchObject({
        kind: 'transport',
      });
      expect(
        Buffer.compare(
          await buffer(largeAttachment.chunks()),
          Buffer.concat(parts),
        ),
      ).toBe(0);
    }
    expect(asked).toBe(2);
  });

  test('beyond the configured size ends with a failure, also without a declared size', async ({
    source,
  }) => {
    const config = { documentBytesMax: 6_000_000 };
    for await (const { largeAttachment } of await largeOf(
      source,
      { 'GET Binary/b1': streamed() },
      config,
    )) {
      if (largeAttachment === undefined) continue;
      await expect(sizeOf(largeAttachment.chunks())).rejects.toMatchObject({
        kind: 'bad-answer',
        message: 'hie answered a document with more than 6000000 bytes',
      });
    }
  });
});
