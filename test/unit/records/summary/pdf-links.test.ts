import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { beforeAll, expect, test } from 'vitest';
import { renderPdf } from '#record-summary';
import {
  gather,
  partsOf,
  sampleReader,
} from '../../../support/summary-reader.ts';

const parts = await gather(partsOf(sampleReader('keith-kiehn')));

/**
 * A summary's sections as a PDF viewer finds them: where their links lead, and
 * which text stands there.
 */
async function open() {
  const bytes = Buffer.concat(
    await gather(renderPdf(partsOf(sampleReader('keith-kiehn')))),
  );
  const file = await getDocument({ data: new Uint8Array(bytes), verbosity: 0 })
    .promise;
  const contents = new Map<number, ReturnType<typeof readPage>>();
  const readPage = async (number: number) =>
    (await file.getPage(number)).getTextContent();
  const contentOf = (number: number) => {
    const content = contents.get(number) ?? readPage(number);
    contents.set(number, content);
    return content;
  };
  const textAt = async (where: unknown): Promise<string | undefined> => {
    const [page, , left, top] = (await destinationOf(where)) as [
      { num: number; gen: number },
      object,
      number,
      number,
    ];
    expect(left).toBe(0);
    const { items } = await contentOf((await file.getPageIndex(page)) + 1);
    const below = items.flatMap((item) =>
      'str' in item && item.str !== '' && item.transform[5] < top ? [item] : [],
    );
    return below.sort((one, other) => other.transform[5] - one.transform[5])[0]
      ?.str;
  };
  const destinationOf = async (where: unknown) =>
    typeof where === 'string'
      ? file.getDestination(where)
      : Array.isArray(where)
        ? where
        : [];
  const links = await (await file.getPage(1)).getAnnotations();
  return { file, links, textAt };
}

let opened: Awaited<ReturnType<typeof open>>;
beforeAll(async () => {
  opened = await open();
});

test('each section of a pdf has a link on the first page and a bookmark, and both lead to its heading', async () => {
  const { file, links, textAt } = opened;
  const sections = parts.flatMap((part) =>
    part.kind === 'head' ? part.head.sections : [],
  );
  expect(links.slice(0, sections.length).map(({ dest }) => dest)).toEqual(
    sections.map(({ id }) => id),
  );
  for (const { id, title } of sections) expect(await textAt(id)).toBe(title);
  const bookmarks = await file.getOutline();
  expect(bookmarks.map(({ title }) => title)).toEqual(
    sections.map(({ title }) => title),
  );
  for (const { title, dest } of bookmarks)
    expect(await textAt(dest)).toBe(title);
});

test('what the overview of a pdf leaves out is linked to the section that has it', async () => {
  const { links, textAt } = opened;
  const rests = parts.flatMap((part) =>
    part.kind === 'overview'
      ? part.blocks.flatMap(({ rest }) =>
          rest === undefined ? [] : [rest.section],
        )
      : [],
  );
  expect(rests.length).toBeGreaterThan(0);
  for (const section of rests) {
    expect(links.filter(({ dest }) => dest === section).length).toBeGreaterThan(
      1,
    );
    expect(await textAt(section)).toBeDefined();
  }
});
