import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOT_JOINED, NOT_WHOLE, PdfPages } from '../src/pdf-document.ts';
import { areLettersRight, runsOf, showable } from '../src/pdf-text.ts';
import { renderPdf } from '../src/render-pdf.ts';
import { property } from './property.ts';
import { gather, PATIENT, partsOf, recordWith } from './records.ts';

const pagesOf = (name = 'Ann') =>
  new PdfPages({
    title: 'T',
    patient: { name, born: '1980' },
    facts: [],
    notes: [],
    sections: [],
  });
const drawn = (text: string) => runsOf(text).map((run) => run.text);

describe('the fonts of a pdf', () => {
  test.each([
    ['Zoë “5 µg”', ['BuiltIn'], []],
    ['Nguyễn', ['Wide'], []],
    ['Łukasz Smith', ['Wide', 'BuiltIn', 'BuiltIn'], []],
    ['Нестеров', ['Wide'], []],
    ['محمد', ['Wide'], []],
    ['≥ 5', ['Wide', 'BuiltIn', 'BuiltIn'], []],
    ['王小明', ['Any'], []],
    ['김민준', ['Any'], []],
    ['नमस्ते', ['Any'], [NOT_JOINED]],
    ['بچہ', ['Any'], [NOT_JOINED]],
    ['😀', ['BuiltIn'], [NOT_WHOLE]],
  ])('%s is drawn by %j, and the reader learns: %j', (text, faces, remarks) => {
    expect(runsOf(showable(text).text).map(({ face }) => face)).toEqual(faces);
    expect(pagesOf(text).remarks).toEqual(remarks);
  });

  test('are asked for each line that is drawn, broken into lines before or not', () => {
    const pages = pagesOf();
    pages.line('😀', 40, 100);
    expect(pages.remarks).toEqual([NOT_WHOLE]);
  });

  test('are embedded only if used, with the glyphs that are used', async () => {
    const pdfOf = async (family: string) =>
      Buffer.concat(
        await gather(
          renderPdf(partsOf(recordWith([{ ...PATIENT, name: [{ family }] }]))),
        ),
      ).toString('latin1');
    const fonts = (pdf: string) => [
      ...new Set(
        [...pdf.matchAll(/\/BaseFont \/[A-Z]{6}\+(\w+)/g)].map(
          ([, name]) => name,
        ),
      ),
    ];
    const plain = await pdfOf('Sample');
    expect(fonts(plain)).toEqual([]);
    const wide = await pdfOf('Нестеров');
    const any = await pdfOf('王小明');
    expect(fonts(wide)).toEqual(['DejaVuSans']);
    expect(fonts(any)).toEqual(['UnifontExMono']);
    for (const pdf of [wide, any])
      expect(pdf.length - plain.length).toBeLessThan(40_000);
  });

  test('show whole what a pdf has as text for programs: title and bookmarks', async () => {
    const pdf = Buffer.concat(
      await gather(
        renderPdf(
          partsOf(recordWith([{ ...PATIENT, name: [{ family: '王😀' }] }])),
        ),
      ),
    );
    const title = Buffer.from(
      'Medical record summary: 王😀',
      'utf16le',
    ).swap16();
    expect(pdf.includes(title)).toBe(true);
  });
});

describe('text in two directions', () => {
  test('is laid out from left to right, the words of a right-to-left script in their own order', () => {
    expect(drawn('said: שלום עולם twice')).toEqual([
      'said:',
      ' ',
      'עולם',
      ' ',
      'שלום',
      ' ',
      'twice',
    ]);
    expect(drawn('אבג 12.5 mg')).toEqual(['12.5', ' ', 'אבג', ' ', 'mg']);
  });

  test('turns brackets around, and keeps those of other words', () => {
    expect(drawn('(a) אב (גד) הו')).toEqual([
      '(a)',
      ' ',
      'הו',
      ' ',
      ')גד(',
      ' ',
      'אב',
    ]);
    expect(drawn('אב ->> גד')).toEqual(['גד', ' ', '<<-', ' ', 'אב']);
  });
});

test.each([
  ['Zoë Žižková – “5 µg”', 'Zoë Žižková – “5 µg”', true],
  ['Nguyễn Łukasz ≥ 5 μg', 'Nguyễn Łukasz ≥ 5 µg', true],
  ['a\u200bb\tc\nd\u202ee', 'ab c de', true],
  ['李 Sample', '李 Sample', true],
  ['𝐀𝟏 Sample', 'A1 Sample', true],
  ['𠮷田', '?田', false],
])('%j is shown as %j', (text, shown, isWhole) => {
  expect(showable(text)).toEqual({ text: shown, isWhole });
});

const anyText = fc.string({ unit: 'binary', maxLength: 60 });

/**
 * Found by chance: two blanks when the character between them is gone, and
 * equivalents that are written otherwise or in parts.
 */
const FOUND: [string][] = [['¡\t\u0000\t'], ['𝝻'], ['🈓']];

property([anyText], { examples: FOUND })(
  'no character is lost or doubled on the way to the page',
  (text) => {
    const shown = showable(text).text;
    const letters = (of: string) =>
      [...of].filter((each) => /[\p{L}\p{N}]/u.test(each)).sort();
    expect(letters(drawn(shown).join(''))).toEqual(letters(shown));
    expect(showable(shown)).toEqual({ text: shown, isWhole: true });
  },
);

// Many texts in one file: most of the time of a file is its fonts.
property([fc.array(anyText, { minLength: 10, maxLength: 10 })], {
  numRuns: 30,
})('any text can be drawn', async (texts) => {
  const pages = pagesOf('Ann');
  for (const line of texts.flatMap((text) => pages.lines(text, 80)))
    pages.line(line, 40, 100);
  await pages.end();
  expect(Buffer.concat(pages.takePieces()).length).toBeGreaterThan(500);
});

test('an ordinary text is never said to be joined wrongly', () => {
  expect(areLettersRight('Plain “text” 5 µg – №')).toBe(true);
});
