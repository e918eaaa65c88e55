import { describe, expect, test } from 'vitest';
import { IheError } from '../../src/ihe-error.ts';
import type { XmlRemark } from '../../src/xml/decode-xml.ts';
import { readXml, type XmlLimits } from '../../src/xml/read-xml.ts';
import {
  attributeOf,
  childrenNamed,
  descendantsNamed,
  firstNamed,
  xmlText,
} from '../../src/xml/xml-element.ts';

const bytes = (text: string) => Buffer.from(text);

function refusal(xml: Uint8Array, limits?: Partial<XmlLimits>): IheError {
  try {
    readXml(xml, { limits });
  } catch (error) {
    if (error instanceof IheError) return error;
    throw error;
  }
  throw new Error('It was read.');
}

describe('reading XML', () => {
  test('which prefix a sender chose makes no difference', () => {
    const written = [
      '<a:x xmlns:a="urn:n"><a:y b="1">t</a:y></a:x>',
      '<x xmlns="urn:n"><y xmlns="urn:n" b="1">t</y></x>',
      '<a:x xmlns:a="urn:n"><a:y xmlns:a="urn:n" b="1"><![CDATA[t]]></a:y></a:x>',
    ];
    for (const each of written) {
      const root = readXml(bytes(each));
      const [child] = childrenNamed(root, 'urn:n', 'y');
      expect(root).toMatchObject({ namespace: 'urn:n', name: 'x' });
      expect(attributeOf(child, 'b')).toBe('1');
      expect(xmlText(child)).toBe('t');
      expect(child?.parent).toBe(root);
    }
  });

  test('an attribute with a prefix is not one without', () => {
    const root = readXml(bytes('<x xmlns:a="urn:a" a:type="1" type="2"/>'));
    expect(attributeOf(root, 'type')).toBe('2');
    expect(attributeOf(root, 'type', 'urn:a')).toBe('1');
    expect(root.attributes).toHaveLength(2);
  });

  test('elements are found along a path and at any depth', () => {
    const root = readXml(bytes('<x><a><b>1</b></a><a><b>2</b></a></x>'));
    expect(xmlText(firstNamed(root, '', 'a', 'b'))).toBe('1');
    expect(firstNamed(root, '', 'b')).toBeUndefined();
    expect(descendantsNamed(root, '', 'b').map(xmlText)).toEqual(['1', '2']);
  });

  test.each<[string, Uint8Array, string | undefined]>([
    ['UTF-8', bytes('<x>é</x>'), undefined],
    ['UTF-8 with a byte order mark', bytes('\uFEFF<x>é</x>'), undefined],
    ['UTF-16', Buffer.from('\uFEFF<x>é</x>', 'utf16le'), undefined],
    ['UTF-16 without a mark', Buffer.from('<x>é</x>', 'utf16le'), undefined],
    [
      'UTF-16, the other way round',
      Buffer.from('\uFEFF<x>é</x>', 'utf16le').swap16(),
      undefined,
    ],
    [
      'UTF-16 that is only declared',
      bytes('<?xml version="1.0" encoding="UTF-16"?><x>é</x>'),
      undefined,
    ],
    [
      'Latin-1 by declaration',
      Buffer.from(
        '<?xml version="1.0" encoding="ISO-8859-1"?><x>é</x>',
        'latin1',
      ),
      undefined,
    ],
    ['Latin-1 by header', Buffer.from('<x>é</x>', 'latin1'), 'iso-8859-1'],
    [
      'UTF-8 by header, against the declaration',
      bytes('<?xml version="1.0" encoding="ISO-8859-1"?><x>é</x>'),
      'utf-8',
    ],
    [
      'UTF-8 by declaration, against the header',
      bytes('<?xml version="1.0" encoding="UTF-8"?><x>é</x>'),
      'iso-8859-1',
    ],
    [
      'a line break before the declaration',
      bytes('\r\n<?xml version="1.0"?><x>é</x>\n'),
      undefined,
    ],
  ])('%s is read without a remark', (_, xml, charset) => {
    const remarks: XmlRemark[] = [];
    const root = readXml(xml, { charset, remark: (one) => remarks.push(one) });
    expect(root.text).toBe('é');
    expect(remarks).toEqual([]);
  });

  test('Windows-1252 under UTF-8 is read, and remarked', () => {
    const remarks: XmlRemark[] = [];
    const xml = Buffer.from('<x>Nu\xF1ez \x96</x>', 'latin1');
    const root = readXml(xml, { remark: (one) => remarks.push(one) });
    expect(root.text).toBe('Nuñez –');
    expect(remarks).toEqual(['not-utf-8']);
  });

  test('bytes that are not UTF-8 are read as what else is announced', () => {
    const declared = '<?xml version="1.0" encoding="ISO-8859-2"?><x>\xB9</x>';
    const root = readXml(Buffer.from(declared, 'latin1'), { charset: 'utf-8' });
    expect(root.text).toBe('š');
  });

  test('an unknown character set is refused', () => {
    const xml = bytes('<?xml version="1.0" encoding="klingon"?><x/>');
    expect(refusal(xml).code).toBe('xml.charset');
  });

  test('a DOCTYPE is refused, whether or not it defines an entity', () => {
    const bomb = `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>`;
    const outside = '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>';
    for (const xml of [bomb, outside])
      expect(refusal(bytes(xml)).code).toBe('xml.doctype');
    expect(readXml(bytes('<x><!-- <!DOCTYPE x> --></x>')).text).toBe('');
  });

  test('too many bytes, levels or nodes are refused', () => {
    const deep = '<a>'.repeat(50_000);
    const wide = `<a>${'<b c="d"/>'.repeat(500)}</a>`;
    expect(refusal(bytes(deep)).message).toBe(
      'The XML has more than 100 levels.',
    );
    expect(refusal(bytes(wide), { nodes: 1_000 }).code).toBe('too-large');
    for (const each of ['<!---->', '<?a?>', '<![CDATA[]]>'])
      expect(
        refusal(bytes(`<a>${each.repeat(500)}</a>`), { nodes: 400 }).code,
      ).toBe('too-large');
    expect(refusal(bytes(wide), { bytes: 1_000 }).code).toBe('too-large');
  });

  test.each([
    ['cut off', '<x><family>Mustermann'],
    ['wrong end', '<x><Mustermann></x>'],
    ['stray quotation mark', '<x><Mustermann"></Mustermann></x>'],
    ['unknown entity', '<x>&Mustermann;</x>'],
    ['unknown prefix', '<x><Mustermann:y/></x>'],
    ['two roots', '<x/><Mustermann/>'],
    ['no root', '<!-- Mustermann -->'],
    ['nothing', ''],
    ['a page', '<html><p>Mustermann<br></html>'],
    ['no XML', 'Mustermann'],
  ])('what is not well-formed is refused without a quotation: %s', (_, xml) => {
    const { code, message } = refusal(bytes(xml));
    expect(code).toBe('xml.not-well-formed');
    expect(message).not.toContain('Mustermann');
  });
});
