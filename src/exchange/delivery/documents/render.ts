import type { DocumentFormat } from '../../../contract/documents.ts';
import {
  type CdaElement,
  childOf,
  isClinicalDocument,
  openXml,
  readElements,
} from '../../records/conversion/ccda/element.ts';
import { ccdaHtml } from './ccda-html.ts';
import { ccdaPdf } from './ccda-pdf.ts';
import { readCcda } from './read-ccda.ts';

/** A rendered document, or why it could not be rendered; the reason completes "This document cannot be converted: ". */
export type Rendering =
  | { kind: 'rendered'; bytes: Uint8Array }
  | { kind: 'not-xml' }
  | { kind: 'refused'; reason: string };

/** Renders a C-CDA document as html or pdf. The input is not trusted. Takes about 0.3 s and 100 MB of memory per MB. */
export async function renderDocument(bytes: Uint8Array, format: DocumentFormat): Promise<Rendering> {
  const xml = openXml(bytes);
  if (xml.kind === 'refused') {
    return xml.reason === 'it is not XML' ? { kind: 'not-xml' } : { kind: 'refused', reason: xml.reason };
  }
  if (!isClinicalDocument(xml.text)) return { kind: 'refused', reason: 'it is XML but not a C-CDA document' };
  const root = rootOf(xml.text);
  if (root === undefined) return { kind: 'refused', reason: 'it is not well-formed XML' };
  const document = readCcda(root);
  if (format === 'pdf') return { kind: 'rendered', bytes: await ccdaPdf(document) };
  return { kind: 'rendered', bytes: Buffer.concat([...ccdaHtml(document)].map((part) => Buffer.from(part))) };
}

function rootOf(xml: string): CdaElement | undefined {
  try {
    return childOf(readElements(xml), 'ClinicalDocument');
  } catch {
    return undefined;
  }
}
