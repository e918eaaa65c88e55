import { XMLParser, XMLValidator } from 'fast-xml-parser';
import PDFDocument from 'pdfkit';
import { renderDocument } from '../../src/exchange/delivery/documents/render.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { median } from '../command-parts.ts';

/** Milliseconds of one document, each the median of the rounds. */
export interface DocumentTimes {
  sample: string;
  sizeBytes: number;
  html: { oursMs: number; bareMs: number };
  pdf: { oursMs: number; bareMs: number };
}

/**
 * The samples' C-CDA documents, converted in this thread; the bare calls omit
 * all formatting.
 */
export async function benchDocuments(
  { rounds }: { rounds: number },
  say: (line: string) => void,
): Promise<DocumentTimes[]> {
  const results: DocumentTimes[] = [];
  for (const sample of loadSamplePatients()) {
    const bytes = loadCcda(sample);
    const ways = {
      html: () => converted(bytes, 'html'),
      bareHtml: async () => void parsed(bytes),
      pdf: () => converted(bytes, 'pdf'),
      barePdf: () => barePdf(parsed(bytes)),
    };
    const times: Record<keyof typeof ways, number[]> = {
      html: [],
      bareHtml: [],
      pdf: [],
      barePdf: [],
    };
    // The first round is a warm-up.
    for (let round = 0; round <= rounds; round += 1) {
      for (const name of Object.keys(ways) as (keyof typeof ways)[]) {
        const start = performance.now();
        await ways[name]();
        if (round > 0) times[name].push(performance.now() - start);
      }
    }
    const ms = (name: keyof typeof ways) => median(times[name]);
    results.push({
      sample: sample.key,
      sizeBytes: bytes.length,
      html: { oursMs: ms('html'), bareMs: ms('bareHtml') },
      pdf: { oursMs: ms('pdf'), bareMs: ms('barePdf') },
    });
    say(
      `${sample.key}: html ${ms('html').toFixed(0)} ms, pdf ${ms('pdf').toFixed(0)} ms`,
    );
  }
  return results;
}

async function converted(
  bytes: Uint8Array,
  format: 'html' | 'pdf',
): Promise<void> {
  const rendering = await renderDocument(bytes, format);
  if (rendering.kind !== 'rendered')
    throw new Error(`not converted: ${rendering.kind}`);
}

/** The library's two calls on the whole document. */
function parsed(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  if (XMLValidator.validate(text) !== true) throw new Error('not well-formed');
  return new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    trimValues: false,
  }).parse(text);
}

/**
 * All text that is not white space as one flow, without tables, heads or tags.
 */
async function barePdf(nodes: unknown): Promise<void> {
  const document = new PDFDocument({ size: 'LETTER', margin: 40 });
  const ended = new Promise<void>(
    (resolve) => void document.on('data', () => undefined).on('end', resolve),
  );
  document.fontSize(8).text(textsOf(nodes).join(' '));
  document.end();
  await ended;
}

function textsOf(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(textsOf);
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, value]) => {
    if (name !== '#text') return textsOf(value);
    const text = String(value).replaceAll(/\s+/g, ' ').trim();
    return text === '' ? [] : [text];
  });
}
