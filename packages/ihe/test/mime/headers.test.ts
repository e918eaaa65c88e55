import { expect, test } from 'vitest';
import { readContentType } from '../../src/mime/content-type.ts';
import { bareContentId } from '../../src/mime/part-headers.ts';
import { transferDecoder } from '../../src/mime/transfer-decoder.ts';

test('parameters of a Content-Type are read with and without quotation marks', () => {
  const header =
    'Multipart/Related; type="application/xop+xml"; Boundary=uuid:a+b=c;start="<a;b@c>";start-info="say \\"x\\""; empty';
  expect(readContentType(header)).toEqual({
    type: 'multipart/related',
    parameters: {
      type: 'application/xop+xml',
      boundary: 'uuid:a+b=c',
      start: '<a;b@c>',
      'start-info': 'say "x"',
    },
  });
  expect(readContentType(undefined)).toEqual({ type: '', parameters: {} });
});

test('a Content-ID and what refers to it have one form', () => {
  const written = [
    '<1@urn:ihe:iti>',
    'cid:1@urn%3Aihe%3Aiti',
    '1@urn:ihe:iti',
    ' <1@urn%3Aihe%3Aiti> ',
  ];
  expect(new Set(written.map(bareContentId))).toEqual(
    new Set(['1@urn:ihe:iti']),
  );
  expect(bareContentId('cid:100%')).toBe('100%');
});

test.each([
  ['base64', 'aGVs\r\nbG8g\r\nd29y bGQ=\r\n', 'hello world'],
  ['BASE64', 'aGVsbG8', 'hello'],
  ['quoted-printable', 'a=3D=E9=\r\nb=\nc', 'a=\xE9bc'],
  ['8bit', 'a=3D', 'a=3D'],
  [undefined, 'a=3D', 'a=3D'],
])(
  'a part in %s is decoded, wherever its chunks end',
  (encoding, written, text) => {
    for (const size of [1, 2, 3, 100]) {
      const decoder = transferDecoder(encoding);
      const decoded: Buffer[] = [];
      for (let at = 0; at < written.length; at += size)
        decoded.push(decoder.decode(Buffer.from(written.slice(at, at + size))));
      decoded.push(decoder.finish());
      expect(Buffer.concat(decoded).toString('latin1')).toBe(text);
    }
  },
);

test('an unknown transfer encoding is refused', () => {
  expect(() => transferDecoder('x-uuencode')).toThrow('transfer encoding');
});
