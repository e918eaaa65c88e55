import { inflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  fittedTables,
  renderHtml,
  renderPdf,
  type SummaryPart,
} from '#record-summary';
import { LineBreaker } from '../../../../packages/record-summary/src/pdf-text.ts';
import {
  ANSWERED,
  gather,
  PATIENT,
  partsOf,
  readerOf,
  sampleReader,
} from '../../../support/summary-reader.ts';

const html = async (parts: AsyncIterable<SummaryPart>) =>
  (await gather(renderHtml(parts))).join('');
const pdf = async (parts: AsyncIterable<SummaryPart>) =>
  Buffer.concat(await gather(renderPdf(parts)));

/** The texts of a PDF's pages; our fonts write one byte a letter, kerned. */
function textsOf(document: Buffer): string {
  const source = document.toString('latin1');
  const streams = source.matchAll(
    /\/Filter \/FlateDecode[^>]*>>\s*stream\n([\s\S]*?)\nendstream/g,
  );
  return [...streams]
    .map(([, stream = '']) =>
      inflateSync(Buffer.from(stream, 'latin1')).toString('latin1'),
    )
    .join('\n')
    .replaceAll(/\[([^\]]*)\] TJ/g, (_, pieces: string) =>
      [...pieces.matchAll(/<([0-9a-f]*)>/g)]
        .map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1'))
        .join(''),
    );
}

const HOSTILE = `<script>alert("x")</script> & 'quoted' \u0000\u0008`;
const hostile = () =>
  partsOf(
    readerOf([
      {
        ...PATIENT,
        id: HOSTILE,
        name: [{ given: [HOSTILE], family: '"><img src=x onerror=y>' }],
      },
      {
        resourceType: 'Condition',
        id: 'c',
        code: { text: HOSTILE },
        onsetDateTime: HOSTILE,
      },
      {
        resourceType: 'Observation',
        id: 'o',
        code: { text: HOSTILE },
        valueString: HOSTILE,
        interpretation: 7,
        component: [null, 3],
      },
      {
        resourceType: 'Encounter',
        id: 'e',
        type: 'no list',
        period: [],
        class: HOSTILE,
        location: {},
      },
    ]),
  );

describe('the html form', () => {
  test("lets no text of a source become markup, and says nothing of what is not FHIR's", async () => {
    const page = await html(hostile());
    expect(page).not.toMatch(/<script|<img|onerror=y>(?!&)/);
    expect(page).toContain(
      '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;quoted&#39;',
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(page).not.toMatch(/[\u0000-\u0008]|undefined|\[object/);
  });

  test('runs and loads nothing, and can be read by ear: one h1, captions, scopes, a language, no id twice', async () => {
    const page = await html(partsOf(sampleReader('keith-kiehn')));
    expect(page).not.toMatch(
      /<script|<link|<img|<iframe|\son\w+=|javascript:|url\(|@import|https?:\/\//,
    );
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(page.match(/<h1/g)).toHaveLength(1);
    expect(page.match(/<table>/g)?.length).toBe(
      page.match(/<caption>/g)?.length,
    );
    expect(page).not.toMatch(/<th(?! scope=|ead)/);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g))
      expect(ids).toContain(target);
    for (const tag of ['section', 'table', 'tbody', 'tr', 'main', 'header'])
      expect(page.match(new RegExp(`<${tag}[ >]`, 'g'))?.length, tag).toBe(
        page.match(new RegExp(`</${tag}>`, 'g'))?.length,
      );
  });
});

describe('the pdf form', () => {
  test('names the patient and the page of how many on each page, and repeats the heads of tables', async () => {
    const document = await pdf(partsOf(sampleReader('keith-kiehn')));
    const source = document.toString('latin1');
    const pages = source.match(/\/Type \/Page\n/g)?.length ?? 0;
    expect(pages).toBeGreaterThan(5);
    const texts = textsOf(document);
    for (let page = 1; page <= pages; page += 1)
      expect(texts).toContain(`Page ${page}`);
    expect(texts).toContain(`of ${pages}`);
    expect(texts.match(/, born /g)).toHaveLength(pages);
    expect(texts).toContain('(continued)');
    expect(source).toContain('/Marked true');
    expect(source).toMatch(/\/Lang \(en-US\)/);
  });

  test('takes any text', async () => {
    const texts = textsOf(await pdf(hostile()));
    expect(texts).toContain('<script>');
    expect(texts).toContain('Active problems');
  });

  test('goes on on the next page with a text that no page can hold', async () => {
    const words = Array.from({ length: 6_000 }, (_, index) => `word${index}`);
    const report = {
      resourceType: 'DiagnosticReport',
      id: 'r',
      code: { text: 'CT' },
      conclusion: words.join(' '),
    };
    const texts = textsOf(await pdf(partsOf(readerOf([PATIENT, report]))));
    for (const index of [0, 1_000, 2_999, 5_999])
      expect(texts).toContain(`word${index}`);
  });
});

test('lines hold as many words as fit, and cut a word only when no line can hold it', () => {
  const breaker = new LineBreaker((text) => text.length);
  expect(breaker.lines('one two three', 7)).toEqual(['one two', 'three']);
  expect(breaker.lines('a extraordinarily b', 7)).toEqual([
    'a',
    'extraor',
    'dinaril',
    'y b',
  ]);
  expect(breaker.lines('', 7)).toEqual(['']);
});

describe('a record that is not complete', () => {
  const failed = {
    ...ANSWERED,
    sources: ANSWERED.sources.map((source) => ({
      ...source,
      state: 'failed' as const,
      reason: 'No answer',
    })),
    unread: [
      {
        source: 'hie' as const,
        fileName: 'hie-1.xml',
        reason: 'it is cut off',
      },
    ],
  };
  const sentence =
    'This record is incomplete: the last request to HIE failed on 7 Mar 2026, 10:00 UTC, the last complete response is of 7 Mar 2026, 10:05 UTC; 1 document could not be read in full.';

  test('says so at the head of both forms, with each source and document; one that is says when it was asked', async () => {
    const page = await html(partsOf(readerOf([PATIENT], 'hie', failed)));
    expect(page.slice(0, page.indexOf('<main'))).toContain(sentence);
    expect(page).toContain('Document hie-1.xml (HIE): it is cut off.');
    expect(page).toContain(
      'last completed 7 Mar 2026, 10:05 UTC; 7 resources and 1 document.',
    );
    const texts = textsOf(
      await pdf(partsOf(readerOf([PATIENT], 'hie', failed))),
    );
    expect(texts).toContain('This record is incomplete');
    const whole = await html(partsOf(readerOf([PATIENT])));
    expect(whole).not.toContain('incomplete:');
    expect(whole).toContain(
      'HIE: completed 7 Mar 2026, 10:05 UTC; 7 resources and 1 document.',
    );
  });
});

describe('columns without any value', () => {
  const condition = (id: string, rest: object = {}) => ({
    resourceType: 'Condition',
    id,
    code: { text: `Problem ${id}` },
    ...rest,
  });
  const columnsOf = async (contents: readonly object[]) => {
    const parts = await gather(
      fittedTables(partsOf(readerOf([PATIENT, ...contents]))),
    );
    return parts.flatMap((part) =>
      part.kind === 'table'
        ? [part.columns.map(({ title }) => title)]
        : part.kind === 'row'
          ? [part.cells.map(({ text }) => text)]
          : [],
    );
  };

  test('are omitted, and those with one value in any row are not', async () => {
    expect(await columnsOf([condition('a'), condition('b')])).toEqual([
      ['Problem', 'Origin'],
      ['Problem b', 'HIE'],
      ['Problem a', 'HIE'],
    ]);
    expect(
      await columnsOf([
        condition('a'),
        condition('b', { onsetDateTime: '2020' }),
      ]),
    ).toEqual([
      ['Problem', 'Since', 'Origin'],
      ['Problem b', '2020', 'HIE'],
      ['Problem a', '–', 'HIE'],
    ]);
  });

  test('are kept in a table too long to hold, of which no row is lost', async () => {
    const found = await columnsOf(
      Array.from({ length: 1_500 }, (_, id) => condition(`${id}`)),
    );
    expect(found[0]).toEqual(['Problem', 'Since', 'Status', 'Notes', 'Origin']);
    expect(found).toHaveLength(1_501);
  });
});
