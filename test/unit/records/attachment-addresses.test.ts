import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type HeldDocument,
  withAddressesAt,
  withOurAddresses,
} from '../../../src/exchange/records/rules/attachment-addresses.ts';

const BASE = 'https://exchange.example.org/fhir/R4';
const THEIRS = 'https://hospital.example.org/Binary/1';
const held = (
  id: string,
  contentType: string,
  { sizeBytes = 10, sha256 = id } = {},
): HeldDocument => ({
  id,
  contentType,
  sizeBytes,
  sha256,
});
const reference = (...attachments: object[]) => ({
  resourceType: 'DocumentReference',
  content: attachments.map((attachment) => ({ attachment })),
});
const urlsOf = (
  attachments: object[],
  documents: HeldDocument[],
): unknown[] => {
  const { content } = withAddressesAt(
    BASE,
    withOurAddresses(reference(...attachments), documents),
  );
  return (content as { attachment: { url?: string } }[]).map(
    ({ attachment }) => attachment.url,
  );
};
const pdf = (of: object = {}) => ({
  contentType: 'application/pdf',
  url: THEIRS,
  ...of,
});
const xml = (of: object = {}) => ({
  contentType: 'text/xml; charset=utf-8',
  url: THEIRS,
  ...of,
});

describe('the address of an attachment', () => {
  test('is ours where the document is stored, of each form its own', () => {
    expect(
      urlsOf(
        [pdf(), xml()],
        [held('x', 'text/xml'), held('p', 'application/pdf')],
      ),
    ).toEqual([`${BASE}/Binary/p`, `${BASE}/Binary/x`]);
  });

  test('is ours for the only file, with the type that the source sent', () => {
    const { content } = withOurAddresses(reference(pdf({ title: 'Letter' })), [
      held('h', 'text/html'),
    ]);
    expect(content).toEqual([
      {
        attachment: {
          contentType: 'text/html',
          title: 'Letter',
          url: 'Binary/h',
        },
      },
    ]);
  });

  test('is given by the size when several have one type, and to none when that does not decide', () => {
    const small = held('s', 'application/pdf');
    const large = held('l', 'application/pdf', { sizeBytes: 99 });
    expect(
      urlsOf([pdf({ size: 99 }), pdf({ size: 10 })], [small, large]),
    ).toEqual([`${BASE}/Binary/l`, `${BASE}/Binary/s`]);
    for (const sizes of [
      [{}, {}],
      [{ size: 99 }, { size: 99 }],
      [{ size: 1 }, { size: 2 }],
    ])
      expect(urlsOf(sizes.map(pdf), [small, large])).toEqual([
        undefined,
        undefined,
      ]);
    expect(urlsOf([pdf(), pdf()], [small])).toEqual([undefined, undefined]);
  });

  test('is ours for a file that an attachment carries in itself, and of no other attachment', () => {
    const data = Buffer.from('a note').toString('base64');
    const sha256 = createHash('sha256').update('a note').digest('hex');
    const inline = { contentType: 'text/plain', data };
    expect(
      urlsOf(
        [inline, { contentType: 'text/plain', url: THEIRS }],
        [held('i', 'text/plain', { sha256 })],
      ),
    ).toEqual([`${BASE}/Binary/i`, undefined]);
  });

  test.each([
    [
      'DocumentReference',
      {
        content: [
          { attachment: pdf({ title: 'Letter' }), format: { code: 'f' } },
        ],
      },
    ],
    ['DiagnosticReport', { presentedForm: [pdf({ title: 'Letter' })] }],
    ['Media', { content: pdf({ title: 'Letter' }) }],
    ['Consent', { sourceAttachment: pdf({ title: 'Letter' }) }],
    ['RelatedPerson', { photo: [pdf({ title: 'Letter' })] }],
    [
      'Communication',
      { payload: [{ contentAttachment: pdf({ title: 'Letter' }) }] },
    ],
  ])(
    'of a %s never leads to the source: without a stored document it is said to be unknown',
    (resourceType, own) => {
      const text = JSON.stringify(
        withOurAddresses({ resourceType, ...own }, []),
      );
      expect(text).not.toContain('hospital');
      expect(text).toContain('"title":"Letter"');
      expect(text).toMatch(
        /"_url":\{"extension":\[\{"url":"[^"]+data-absent-reason","valueCode":"unknown"/,
      );
    },
  );

  test('is left out beside the content itself, which stays', () => {
    const data = Buffer.from('a note').toString('base64');
    const { content } = withOurAddresses(reference({ data, url: THEIRS }), []);
    expect(content).toEqual([{ attachment: { data } }]);
  });

  test.each([
    {},
    { content: 'text' },
    { content: [1, null, { attachment: 'text' }, {}] },
  ])('of a malformed DocumentReference changes nothing: %j', (own) => {
    const resource = { resourceType: 'DocumentReference', ...own };
    expect(
      withAddressesAt(
        BASE,
        withOurAddresses(resource, [held('p', 'application/pdf')]),
      ),
    ).toEqual(resource);
  });
});
