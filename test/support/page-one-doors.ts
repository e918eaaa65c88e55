import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import {
  fittedTables,
  personFacts,
  renderHtml,
  renderPdf,
  type SummaryPart,
} from '#record-summary';
import type { Json } from '#record-summary/fhir';
import { linesOfPart } from '../../src/exchange/delivery/agents/tools.ts';
import { ipsSections } from '../../src/exchange/delivery/fhir-api/summary/ips-sections.ts';
import type { PatientRecord } from '../../src/exchange/records/reading/record-reader.ts';
import { gather, MADE_AT, partsOf } from './summary-reader.ts';

/** What a reader finds on page one, as plain text, by door. */
export async function pageOneByDoor(
  reader: PatientRecord,
): Promise<Record<string, string>> {
  const first = await gather(firstParts(reader));
  const again = async function* () {
    yield* first;
  };
  const html = (await gather(renderHtml(fittedTables(again())))).join('');
  const pdf = await gather(renderPdf(fittedTables(again())));
  const [overview] = await ipsSections(reader, MADE_AT);
  const narrative = JSON.parse(JSON.stringify(overview?.json.text)).div;
  return {
    html: plain(html.slice(html.indexOf('<body'))),
    pdf: await textOfPdf(new Uint8Array(Buffer.concat(pdf))),
    // Its script writes each of these texts as it is.
    embedded: textsIn(first).join('\n'),
    // A health link shows the narratives of the patient summary.
    'health link and IPS': `${await person(reader)} ${plain(narrative)}`,
    agents: first
      .flatMap((part) => linesOfPart(part, 'p'))
      .map(({ section, says }) => `${section}: ${says}`)
      .join('\n'),
  };
}

async function* firstParts(reader: PatientRecord): AsyncGenerator<SummaryPart> {
  for await (const part of partsOf(reader)) {
    if (part.kind === 'section') return;
    yield part;
  }
}

async function person(reader: PatientRecord): Promise<string> {
  const [patient] = await gather(reader.read(['Patient']));
  return personFacts((patient?.content ?? {}) as unknown as Json, MADE_AT)
    .map(({ label, value }) => `${label}: ${value}`)
    .join(' ');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

const plain = (html: string): string =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? '')
    .replaceAll(/\s+/g, ' ');

async function textOfPdf(data: Uint8Array): Promise<string> {
  const file = await getDocument({ data, verbosity: 0 }).promise;
  const page = await file.getPage(1);
  const { items } = await page.getTextContent();
  await file.destroy();
  return items
    .map((item) => ('str' in item ? item.str : ''))
    .join(' ')
    .replaceAll(/\s+/g, ' ');
}

/** All texts of a value, in their order. */
const textsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : [];

/**
 * Those of the facts that a text does not say. `LDL … 249` is said where `249`
 * follows soon after `LDL`.
 */
export const notSaid = (facts: readonly string[], text: string): string[] =>
  facts.filter((fact) => {
    const parts = fact
      .split(' … ')
      .map((part) =>
        part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '\\s*'),
      );
    return !new RegExp(parts.join('[\\s\\S]{0,220}?'), 'i').test(text);
  });

/** One fact a line. */
export const factsIn = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
