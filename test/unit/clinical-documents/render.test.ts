import { describe, expect, test } from 'vitest';
import {
  type Rendering,
  renderDocument,
} from '../../../src/exchange/delivery/documents/render.ts';
import { loadSamplePatients } from '../../../src/local-stack/sample-patients.ts';
import { loadCcda } from '../../../tools/simulator/samples.ts';

/** A small C-CDA document with this as the text of its one section. */
const ccda = (
  text: string,
  { title = 'Visit', declaration = '' } = {},
): string =>
  `${declaration}<ClinicalDocument xmlns="urn:hl7-org:v3"><title>${title}</title>
    <effectiveTime value="20240506070809-0500"/>
    <recordTarget><patientRole><id extension="77"/><patient><name><given>Zoë</given> <family>O'Neil</family></name>
    <administrativeGenderCode code="F"/><birthTime value="19800405"/></patient></patientRole></recordTarget>
    <component><structuredBody><component><section><title>Notes</title><text>${text}</text>
    <entry><observation><text>for machines</text></observation></entry></section></component></structuredBody></component>
  </ClinicalDocument>`;

const html = async (document: string | Uint8Array): Promise<string> => {
  const rendering = await renderDocument(Buffer.from(document), 'html');
  if (rendering.kind !== 'rendered') throw new Error(JSON.stringify(rendering));
  return Buffer.from(rendering.bytes).toString('utf8');
};
/** What the section shows, without the page around it. */
const body = async (text: string): Promise<string> =>
  /<main>\s*<section id="section-1"><h2>Notes<\/h2>\s*([\s\S]*?)<\/section>/
    .exec(await html(ccda(text)))?.[1]
    ?.trim() ?? 'no section';

describe('the narrative of a section', () => {
  test.each([
    ['plain text', 'No &amp; <br/> none', '<p>No &amp; <br />none</p>'],
    [
      'paragraphs',
      '<paragraph>a</paragraph><paragraph>b</paragraph>',
      '<p>a</p>\n<p>b</p>',
    ],
    [
      'lists within lists',
      '<list listType="ordered"><caption>C</caption><item>a<list><item>b</item></list></item></list>',
      '<p><strong>C</strong></p>\n<ol><li><p>a</p><ul><li>b</li></ul></li></ol>',
    ],
    [
      'styles',
      '<content styleCode="Bold xRule">a</content> <content styleCode="Italics">b</content>',
      '<p><strong>a </strong><em>b</em></p>',
    ],
    ['superscripts, in words', 'm<sup>2</sup>', '<p>m2</p>'],
    [
      'unknown elements, as their text',
      '<custom><deep>kept</deep></custom>',
      '<p>kept</p>',
    ],
    [
      'media, by name',
      '<renderMultiMedia referencedObject="M"/>',
      '<p><em>[Image or other media, not shown here]</em></p>',
    ],
    [
      'links, as their text',
      '<linkHtml href="https://evil.example/">see</linkHtml>',
      '<p>see</p>',
    ],
    [
      'CDATA, as text',
      '<![CDATA[<script>x</script>]]>',
      '<p>&lt;script&gt;x&lt;/script&gt;</p>',
    ],
    ['entities of nobody, unexpanded', '&xxe;', '<p>&amp;xxe;</p>'],
    ['nothing', '', '<p class="muted">This section is empty.</p>'],
  ])('shows %s', async (_what, text, shown) => {
    expect(await body(text)).toBe(shown);
  });

  test('shows tables with heads, spans and lists within their cells', async () => {
    const table = await body(
      `<table><caption>Labs</caption><colgroup><col/></colgroup><thead><tr><th>Test</th><th colspan="2">Value</th></tr></thead>
       <tbody><tr><td>Na</td><td><list><item>140</item><item>mmol/L</item></list></td><td colspan="bogus">x</td></tr></tbody></table>`,
    );
    expect(table).toContain('<p><strong>Labs</strong></p>');
    expect(table).toContain(
      '<thead><tr><th>Test</th><th colspan="2">Value</th></tr></thead>',
    );
    expect(table).toContain('<td>• 140<br />• mmol/L</td><td>x</td>');
  });

  test.each([
    ['2021-03-15T15:45:16Z', '15 Mar 2021, 15:45 UTC'],
    ['20210315154516-0500', '15 Mar 2021, 15:45 UTC-05:00'],
    ['http://snomed.info/sct 410620009', 'SNOMED CT 410620009'],
    ['http://loinc.org|8867-4', 'LOINC 8867-4'],
    // Not certainly a time, or no code of a system that we know: as written.
    ['20210315154516', '20210315154516'],
    ['2021-99-15T15:45:16Z', '2021-99-15T15:45:16Z'],
    ['http://example.org 12', 'http://example.org 12'],
    ['seen 2021-03-15T15:45:16Z', 'seen 2021-03-15T15:45:16Z'],
  ])('shows the cell %s as %s', async (cell, shown) => {
    const table = await body(
      `<table><tbody><tr><td>${cell}</td></tr></tbody></table>`,
    );
    expect(/<td[^>]*>(.*)<\/td>/.exec(table)?.[1]).toBe(shown);
  });

  test('lets nothing through that runs, loads or leads elsewhere', async () => {
    const page = await html(
      ccda(
        `<script>alert(1)</script><paragraph onclick="x()" style="background:url(http://e.example)">p</paragraph>
         <table background="http://e.example"><tr><td style="x" onmouseover="y">c</td></tr></table>
         <img src="http://e.example/a.png"/><iframe src="http://e.example"/>&lt;img src=x onerror=alert(2)&gt;`,
        { title: '&lt;/title&gt;&lt;script&gt;alert(3)&lt;/script&gt;' },
      ),
    );
    expect(page).not.toMatch(
      /<script|<img|<iframe|<[^>]*\s(?:on\w+|style|src)=|\shref="(?!#)/i,
    );
    expect(page).toContain('&lt;img src=x onerror=alert(2)&gt;');
    expect(page).toContain(
      '<title>&lt;/title&gt;&lt;script&gt;alert(3)&lt;/script&gt;</title>',
    );
  });

  test('leaves the entries for machines out', async () => {
    expect(await html(ccda('text'))).not.toContain('for machines');
  });
});

describe('the header', () => {
  test('says whom the document is about, and dates as they were written', async () => {
    const page = await html(ccda('x'));
    for (const fact of [
      "Zoë O'Neil",
      '5 Apr 1980',
      'Female',
      '77',
      '6 May 2024, 07:08 UTC-05:00',
    ])
      expect(page).toContain(`<dd>${fact}</dd>`);
  });
});

const refused = (reason: string | RegExp): Rendering => ({
  kind: 'refused',
  reason: expect.stringMatching(reason) as unknown as string,
});

describe('odd documents', () => {
  const deep = `${'<content>'.repeat(300)}x${'</content>'.repeat(300)}`;
  test.each<[string, string | Uint8Array, Rendering]>([
    ['empty', '', { kind: 'not-xml' }],
    ['a PDF', '%PDF-1.7 …', { kind: 'not-xml' }],
    ['other XML', '<note/>', refused('not a C-CDA document')],
    ['not well-formed', ccda('<paragraph>'), refused('not well-formed')],
    ['cut short', ccda('x').slice(0, -20), refused('not well-formed')],
    [
      'a DTD',
      ccda('x', { declaration: '<!DOCTYPE x [<!ENTITY a "b">]>' }),
      refused('document type'),
    ],
    ['nested too deep', ccda(deep), refused('too deep')],
    [
      'an encoding nobody knows',
      ccda('x', { declaration: '<?xml version="1.0" encoding="x-odd"?>' }),
      refused('encoding'),
    ],
  ])('%s: refused with the reason', async (_what, document, answer) => {
    expect(await renderDocument(Buffer.from(document), 'html')).toEqual(answer);
  });

  test.each<[string, Uint8Array]>([
    ['not in its encoding', Buffer.from(ccda('Zoë'), 'latin1')],
    [
      'UTF-16',
      Buffer.concat([
        Buffer.of(0xff, 0xfe),
        Buffer.from(ccda('Zoë'), 'utf16le'),
      ]),
    ],
    [
      'Latin-1',
      Buffer.from(
        ccda('Zoë', {
          declaration: '<?xml version="1.0" encoding="ISO-8859-1"?>',
        }),
        'latin1',
      ),
    ],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${ccda('Zoë')}`)],
    [
      'prefixed names',
      Buffer.from(
        ccda('Zoë')
          .replaceAll(/<(\/?)(\w)/g, '<$1cda:$2')
          .replace('xmlns=', 'xmlns:cda='),
      ),
    ],
  ])('%s: read as it is', async (_what, document) => {
    expect(await html(document)).toContain('<p>Zoë</p>');
  });

  test('without patient, title or body still becomes a page', async () => {
    const page = await html('<ClinicalDocument></ClinicalDocument>');
    expect(page).toContain('<h1>Clinical document</h1>');
    expect(
      (
        await renderDocument(
          Buffer.from('<ClinicalDocument></ClinicalDocument>'),
          'pdf',
        )
      ).kind,
    ).toBe('rendered');
  });

  test('with a body that is a file says so; one that is text shows it', async () => {
    const other = (attributes: string, content: string) =>
      html(
        `<ClinicalDocument><component><nonXMLBody><text ${attributes}>${content}</text></nonXMLBody></component></ClinicalDocument>`,
      );
    expect(
      await other(
        'mediaType="application/pdf" representation="B64"',
        'JVBERi0=',
      ),
    ).toContain('file of type application/pdf');
    expect(
      await other('mediaType="text/plain" representation="B64"', 'SGVsbG8='),
    ).toContain('<p>Hello</p>');
  });
});

describe('pdf', () => {
  test.each(
    loadSamplePatients()
      .slice(0, 2)
      .map((sample) => [sample.key, sample] as const),
  )('of %s has as many pages as it says', async (_key, sample) => {
    const rendering = await renderDocument(loadCcda(sample), 'pdf');
    if (rendering.kind !== 'rendered') throw new Error(rendering.kind);
    const pdf = Buffer.from(rendering.bytes).toString('latin1');
    expect(pdf.startsWith('%PDF-1.7')).toBe(true);
    expect(pdf.trimEnd().endsWith('%%EOF')).toBe(true);
    const pages = [...pdf.matchAll(/\/Type \/Page\n/g)].length;
    expect(pages).toBeGreaterThan(3);
    expect(pdf).not.toMatch(/\/(?:JavaScript|JS|OpenAction|URI|Launch)\b/);
  });

  test('holds tables whose cells overlap, are empty, or are higher than a page', async () => {
    const high = Array.from(
      { length: 400 },
      (_, line) => `<item>line ${line}</item>`,
    ).join('');
    const text = `<table><tr><td rowspan="9" colspan="3">a</td><td>b</td></tr><tr><td colspan="40">c</td></tr>
      <tr><td/><td><list>${high}</list></td></tr></table><table/><table><thead><tr><th>only a head</th></tr></thead></table>`;
    expect((await renderDocument(Buffer.from(ccda(text)), 'pdf')).kind).toBe(
      'rendered',
    );
    expect((await renderDocument(Buffer.from(ccda(text)), 'html')).kind).toBe(
      'rendered',
    );
  });
});
