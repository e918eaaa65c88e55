import { createHash } from 'node:crypto';
import type { Attachment } from 'fhir/r4.js';
import type { Hl7Segment } from './message.ts';

/** HL7 tables 0191 and 0291 (types and subtypes of files) as media types. */
const TYPES: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  rtf: 'application/rtf',
  html: 'text/html',
  xml: 'application/xml',
  'x-hl7-cda-level-one': 'application/xml',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  tiff: 'image/tiff',
  plain: 'text/plain',
  text: 'text/plain',
};

/** A file within an OBX segment (OBX-2 ED), with its data in base64; undefined when there is none. */
export function fileOf(obx: Hl7Segment): Attachment | undefined {
  if (obx.value(2) !== 'ED') return undefined;
  const [read] = obx.repetitions(5);
  const content = read?.(5);
  if (read === undefined || content === undefined) return undefined;
  const bytes = decoded(content, read(4));
  const [type, subtype] = [read(2)?.toLowerCase() ?? '', read(3)?.toLowerCase() ?? ''];
  const named = `${type}/${subtype}`;
  return {
    contentType:
      TYPES[subtype] ?? TYPES[type] ?? (/^\w+\/[\w.+-]+$/.test(named) ? named : 'application/octet-stream'),
    data: bytes.toString('base64'),
    size: bytes.length,
    hash: createHash('sha1').update(bytes).digest('base64'),
    ...(obx.value(3, 2) === undefined ? {} : { title: obx.value(3, 2) }),
  };
}

/** HL7 table 0299: `A` is text, `Hex` and `Base64` are what they say. */
function decoded(content: string, encoding: string | undefined): Buffer {
  if (encoding === 'A') return Buffer.from(content);
  return Buffer.from(content.replaceAll(/\s/g, ''), encoding === 'Hex' ? 'hex' : 'base64');
}
