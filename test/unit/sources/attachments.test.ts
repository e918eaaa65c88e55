import { afterEach, describe, expect, test } from 'vitest';
import type { SourcePage } from '../../../src/exchange/sources/connector.ts';
import type { SourceConfig } from '../../../src/exchange/sources/source-config.ts';
import { adaAtSource, bundle, collectAtOnce, connect, FakeSource, type Reply } from './fake-source.ts';

let source: FakeSource;
const others: FakeSource[] = [];
afterEach(async () => {
  await source.stop();
  for (const other of others.splice(0)) await other.stop();
});

const document = (attachment: unknown, id = 'd1') => ({
  resourceType: 'DocumentReference',
  id,
  subject: { reference: 'Patient/p1' },
  content: [{ attachment }],
});

async function pageWith(
  documents: unknown[],
  routes: FakeSource['routes'] = {},
  config: Partial<SourceConfig> = {},
): Promise<SourcePage> {
  source = await new FakeSource({
    'POST Patient/$match': { json: bundle([adaAtSource]) },
    'GET Patient/p1/$everything': { json: bundle(documents) },
    ...routes,
  }).start();
  const [page] = await collectAtOnce(connect(source, config));
  if (page === undefined) throw new Error('no page');
  return page;
}

const pdf = { contentType: 'application/pdf', url: 'Binary/b1' };
const asPdf: Reply = { text: '%PDF-1.7', headers: { 'content-type': 'application/pdf' } };

describe('a document', () => {
  test('comes as itself, with the type it really has', async () => {
    const page = await pageWith([document(pdf)], { 'GET Binary/b1': asPdf });
    expect(page.attachments).toEqual([
      { documentReferenceId: 'd1', contentType: 'application/pdf', bytes: Buffer.from('%PDF-1.7') },
    ]);
    expect(page.skippedAttachments).toBe(0);
  });

  test('comes wrapped in a Binary, or inline', async () => {
    const data = Buffer.from('<xml/>').toString('base64');
    const page = await pageWith(
      [document(pdf), document({ contentType: 'text/plain; charset=utf-8', data }, 'd2')],
      { 'GET Binary/b1': { json: { resourceType: 'Binary', contentType: 'text/xml', data } } },
    );
    expect(
      page.attachments.map(({ documentReferenceId, contentType, bytes }) => [
        documentReferenceId,
        contentType,
        String(bytes),
      ]),
    ).toEqual([
      ['d1', 'text/xml', '<xml/>'],
      ['d2', 'text/plain', '<xml/>'],
    ]);
  });

  test('without a usable type keeps the one its reference names', async () => {
    const page = await pageWith([document(pdf)], {
      'GET Binary/b1': { text: 'x', headers: { 'content-type': 'application/octet-stream' } },
    });
    expect(page.attachments[0]?.contentType).toBe('application/pdf');
  });

  test('that failed once is asked for once more', async () => {
    let asked = 0;
    const page = await pageWith([document(pdf)], {
      'GET Binary/b1': () => {
        asked += 1;
        return asked === 1 ? { status: 503 } : asPdf;
      },
    });
    expect(page.attachments).toHaveLength(1);
  });

  test.each<[string, unknown, Reply]>([
    ['is gone', pdf, { status: 404 }],
    ['is refused', pdf, { status: 403 }],
    ['keeps failing', pdf, { status: 500 }],
    ['is too large', pdf, { text: 'x'.repeat(300_000), headers: { 'content-type': 'text/plain' } }],
    ['has no address', { url: 'http://' }, {}],
    ['is a broken connection', pdf, { write: (response) => response.destroy() }],
  ])('that %s is skipped and counted, and the page stands', async (_, attachment, reply) => {
    const documents = [document(attachment), document({ data: 'eA==' }, 'd2')];
    const page = await pageWith(documents, { 'GET Binary/b1': reply }, { pageBytesMax: 200_000 });
    expect(page.resources).toHaveLength(2);
    expect(page).toMatchObject({ skippedAttachments: 1, attachments: [{ documentReferenceId: 'd2' }] });
  });

  test('at a foreign address is never asked for', async () => {
    const foreign = await new FakeSource().start();
    others.push(foreign);
    const page = await pageWith([document({ url: `${foreign.origin}/fhir/x` })]);
    expect(page).toMatchObject({ skippedAttachments: 1, attachments: [] });
    expect(foreign.asked).toEqual([]);
  });

  test('of another patient is not fetched', async () => {
    const page = await pageWith([{ ...document(pdf), subject: { reference: 'Patient/p9' } }], {
      'GET Binary/b1': asPdf,
    });
    expect(page).toMatchObject({ misattributedCount: 1, attachments: [], skippedAttachments: 0 });
    expect(source.askedFor('GET Binary')).toEqual([]);
  });

  test('more than a page may hold is skipped and counted', async () => {
    const data = Buffer.alloc(10).toString('base64');
    const documents = Array.from({ length: 130 }, (_, n) => document({ data }, `d${n}`));
    const page = await pageWith(documents);
    expect(page.attachments).toHaveLength(100);
    expect(page.skippedAttachments).toBe(30);
  });
});
