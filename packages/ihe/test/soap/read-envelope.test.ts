import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IheError } from '../../src/ihe-error.ts';
import {
  type Envelope,
  type MessageBytes,
  readEnvelope,
} from '../../src/soap/read-envelope.ts';
import { newMessageId, writeEnvelope } from '../../src/soap/write-envelope.ts';
import { mtomMessage, plainMessage } from '../../src/soap/write-message.ts';
import { xml } from '../../src/xml/write-xml.ts';
import { isNamed } from '../../src/xml/xml-element.ts';
import { collect, inChunks } from './collect.ts';

const ACTION = 'urn:ihe:iti:2007:CrossGatewayRetrieve';
const SOAP_TYPE = 'application/soap+xml; charset=UTF-8';

const envelope = (body = xml`<m xmlns="urn:m">Núñez &amp; Søn</m>`) =>
  writeEnvelope({
    action: ACTION,
    messageId: 'urn:uuid:1',
    to: 'https://gateway.test/xca?a=1&b=2',
    body,
  });

async function refusal(
  message: MessageBytes | string,
  contentType = SOAP_TYPE,
  options = {},
): Promise<string> {
  const bytes = typeof message === 'string' ? Buffer.from(message) : message;
  try {
    await readEnvelope(bytes, contentType, options);
  } catch (error) {
    if (error instanceof IheError) return error.code;
    throw error;
  }
  return 'read';
}

/** A multipart message of one root and one attachment, in a sender's style. */
function multipart(style: {
  boundary?: string;
  rootId?: string;
  documentId?: string;
  encoding?: string;
  document?: string;
  isRootLast?: boolean;
  rootType?: string;
}): Buffer {
  const boundary = style.boundary ?? 'b-1';
  const root = `Content-Type: ${style.rootType ?? 'application/xop+xml; charset=UTF-8'}\r\nContent-ID: ${style.rootId ?? '<root@x>'}\r\n\r\n${envelope()}`;
  const document = `Content-Type: text/plain\r\nContent-ID: ${style.documentId ?? '<d1@x>'}\r\nContent-Transfer-Encoding: ${style.encoding ?? 'binary'}\r\n\r\n${style.document ?? 'hello'}`;
  const parts = style.isRootLast ? [document, root] : [root, document];
  return Buffer.from(
    `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--`,
  );
}

const documentOf = (read: Envelope, reference = 'cid:d1@x') =>
  read.attachment(reference)?.stored.toString();

describe('a SOAP message', () => {
  test('is read as it was written', async () => {
    const { contentType, body } = plainMessage(envelope(), ACTION);
    const read = await readEnvelope(body, contentType);
    expect(read).toMatchObject({
      action: ACTION,
      messageId: 'urn:uuid:1',
      to: 'https://gateway.test/xca?a=1&b=2',
      replyTo: 'http://www.w3.org/2005/08/addressing/anonymous',
      relatesTo: undefined,
      fault: undefined,
      attachments: [],
      isComplete: true,
      remarks: [],
    });
    expect(read.payload?.text).toBe('Núñez & Søn');
    expect(read.payload && isNamed(read.payload, 'urn:m', 'm')).toBe(true);
  });

  test('an answer says what it answers, and not where answers go', async () => {
    const answer = writeEnvelope({
      action: ACTION,
      messageId: newMessageId(),
      relatesTo: 'uuid:1',
      body: xml`<m/>`,
    });
    const read = await readEnvelope(Buffer.from(answer), SOAP_TYPE);
    expect(read.relatesTo).toBe('uuid:1');
    expect(read.replyTo).toBeUndefined();
  });

  test('documents of any bytes arrive as they were sent, in any chunks', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 4 }),
        fc.integer({ min: 1, max: 2_000 }),
        async (documents, size) => {
          const { contentType, body } = mtomMessage(
            envelope(),
            ACTION,
            documents.map((bytes, at) => ({
              contentId: `${at}@urn:ihe:iti`,
              contentType: 'application/octet-stream',
              bytes,
            })),
          );
          const bytes = await collect(body);
          const read = await readEnvelope(inChunks(bytes, size), contentType);
          expect(read.isComplete).toBe(true);
          expect(read.attachments).toHaveLength(documents.length);
          for (const [at, document] of documents.entries())
            expect(
              read.attachment(`cid:${at}@urn%3Aihe%3Aiti`)?.stored,
            ).toEqual(Buffer.from(document));
        },
      ),
      { numRuns: 60 },
    ));

  const announced =
    'multipart/related; type="application/xop+xml"; start="<root@x>"; boundary="b-1"';
  test.each<[string, Buffer, string]>([
    ['as usual', multipart({}), announced],
    [
      'the root is not the first part',
      multipart({ isRootLast: true }),
      announced,
    ],
    [
      'the root is not the first part, and nothing says which',
      multipart({ isRootLast: true }),
      'multipart/related; boundary=b-1',
    ],
    [
      'start names no part',
      multipart({}),
      announced.replace('root@x', 'other'),
    ],
    [
      'start without brackets',
      multipart({}),
      announced.replace('<root@x>', 'root@x'),
    ],
    [
      'a root of another type',
      multipart({ rootType: 'text/xml; charset=utf-8' }),
      announced,
    ],
    [
      'a boundary with : + = and without quotation marks',
      multipart({ boundary: 'uuid:a+b=c' }),
      'multipart/related; boundary=uuid:a+b=c; start="<root@x>"',
    ],
    [
      'another boundary than announced',
      multipart({ boundary: 'other' }),
      announced,
    ],
    ['announced as SOAP without attachments', multipart({}), SOAP_TYPE],
    ['nothing announced', multipart({}), ''],
    [
      'Content-ID without brackets',
      multipart({ documentId: 'd1@x' }),
      announced,
    ],
    [
      'Content-ID percent-encoded',
      multipart({ documentId: '<d1%40x>' }),
      announced,
    ],
    [
      'a document in base64',
      multipart({ encoding: 'base64', document: 'aGVs\r\nbG8=' }),
      announced,
    ],
  ])('with an attachment is read: %s', async (_, message, contentType) => {
    for (const size of [1, 50, 10_000]) {
      const read = await readEnvelope(inChunks(message, size), contentType);
      expect(read.action).toBe(ACTION);
      expect(read.attachments).toHaveLength(1);
      expect(documentOf(read)).toBe('hello');
      expect(documentOf(read, 'd1@x')).toBe('hello');
      expect(read.attachment('cid:d2@x')).toBeUndefined();
    }
  });

  test('announced as multipart and sent without is read', async () => {
    const read = await readEnvelope(Buffer.from(envelope()), announced);
    expect(read).toMatchObject({ action: ACTION, isComplete: true });
  });

  test('a document that is SOAP itself is an attachment', async () => {
    const message = multipart({ document: 'Content' }).toString();
    const nested = message.replace(
      'Content-Type: text/plain',
      'Content-Type: application/soap+xml',
    );
    const read = await readEnvelope(Buffer.from(nested), announced);
    expect(documentOf(read)).toBe('Content');
  });

  test('an attachment that the connection cut is not a whole one', async () => {
    const message = multipart({ document: 'x'.repeat(1_000) });
    const read = await readEnvelope(message.subarray(0, -200), announced);
    expect(read.isComplete).toBe(false);
    expect(read.attachments).toMatchObject([{ isComplete: false }]);
  });

  test('without the closing boundary, XML that is whole is read', async () => {
    const message = multipart({}).toString();
    const [root = ''] = message.split('--b-1\r\nContent-Type: text/plain');
    const read = await readEnvelope(Buffer.from(root), announced);
    expect(read).toMatchObject({ action: ACTION, isComplete: false });
    expect(await refusal(root.slice(0, -40), announced)).toBe('cut');
    expect(await refusal(root.slice(0, 60), announced)).toBe('cut');
  });

  test('the charset of the root part is that of its own header', async () => {
    const text = multipart({
      rootType: 'application/xop+xml; charset=iso-8859-1',
    });
    const message = Buffer.from(text.toString('utf8'), 'latin1');
    const read = await readEnvelope(message, announced);
    expect(read.payload?.text).toBe('Núñez & Søn');
  });

  test('its attachments can be stored as they arrive', async () => {
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    async function* hundred() {
      for (let sent = 0; sent < 100; sent += 1) yield megabyte;
    }
    const { contentType, body } = mtomMessage(envelope(), ACTION, [
      { contentId: 'd', contentType: 'a/b', bytes: hundred() },
    ]);
    let largest = 0;
    const read = await readEnvelope(body, contentType, {
      store: () => {
        let length = 0;
        return {
          write: (bytes) => {
            length += bytes.length;
            largest = Math.max(largest, bytes.length);
          },
          close: () => length,
        };
      },
    });
    expect(read.attachment('cid:d')?.stored).toBe(100 * 1024 * 1024);
    expect(largest).toBeLessThanOrEqual(2 * 1024 * 1024);
  });
});

describe('what is no message is named', () => {
  test.each([
    ['empty', ''],
    ['empty', ' \r\n '],
    ['html', '<!DOCTYPE html><html><body>Max Mustermann</body></html>'],
    ['html', '\r\n<HTML><p>503 Service Unavailable</HTML>'],
    [
      'html',
      '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>',
    ],
    ['wsdl', '<w:definitions xmlns:w="http://schemas.xmlsoap.org/wsdl/"/>'],
    ['not-soap', '<ClinicalDocument xmlns="urn:hl7-org:v3"/>'],
    ['not-soap', '<Envelope xmlns="urn:other"><Body/></Envelope>'],
    [
      'xml.not-well-formed',
      '<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope"><e:Bo',
    ],
    ['xml.doctype', '<!DOCTYPE x><x/>'],
    ['xml.not-well-formed', '{"error":"no"}'],
  ])('%s: %j', async (code, message) => {
    expect(await refusal(message)).toBe(code);
  });

  test('a page by its type', async () => {
    expect(await refusal('Forbidden', 'text/html')).toBe('html');
    expect(await refusal('upstream error', 'text/plain')).toBe('html');
    expect(await refusal(envelope(), 'text/plain')).toBe('read');
  });

  test('too many bytes or parts are refused while they arrive', async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        given += 1;
        yield Buffer.from(`\r\n--b\r\nContent-Type: a/b\r\n\r\n`);
      }
    }
    const type = 'multipart/related; boundary=b';
    expect(await refusal(endless(), type, { limits: { parts: 10 } })).toBe(
      'too-large',
    );
    expect(given).toBeLessThan(20);
    expect(await refusal(endless(), type, { limits: { bytes: 1_000 } })).toBe(
      'too-large',
    );
    expect(
      await refusal(envelope(), SOAP_TYPE, { limits: { xml: { bytes: 100 } } }),
    ).toBe('too-large');
  });
});
