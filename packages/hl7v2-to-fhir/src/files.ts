import { createHash } from 'node:crypto';
import type { Attachment } from 'fhir/r4.js';
import { hl7Table } from './lookup-table.ts';
import type { ComponentReader, Hl7Segment } from './message.ts';

/** HL7 tables 0191 and 0291 (types and subtypes of files) as media types. */
const TYPES: Readonly<Record<string, `${string}/${string}`>> = hl7Table({
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
});

/** The first bytes (Latin-1) of files whose sender names no type. */
const BEGINNINGS = [
  { first: '%PDF-', contentType: 'application/pdf' },
  { first: '{\\rtf', contentType: 'application/rtf' },
  { first: '\u0089PNG', contentType: 'image/png' },
  { first: '\u00ff\u00d8\u00ff', contentType: 'image/jpeg' },
  { first: 'II*\0', contentType: 'image/tiff' },
  { first: 'MM\0*', contentType: 'image/tiff' },
  { first: '<?xml', contentType: 'application/xml' },
  { first: '<ClinicalDocument', contentType: 'application/xml' },
  { first: '<html', contentType: 'text/html' },
] as const;

const UNKNOWN = 'application/octet-stream';

/** Types (OBX-2) of texts, in which senders put files, too. */
const TEXTS: ReadonlySet<string | undefined> = new Set([
  undefined,
  'ST',
  'TX',
  'FT',
]);

/**
 * A file within an OBX segment, with its data in base64; undefined when there
 * is none. By its type it is ED (source, type, subtype, encoding, data); a file
 * in fewer components (`PDF^Base64^…`), or sent as a text, is one if its bytes
 * begin as those of a file do.
 */
export function fileOf(obx: Hl7Segment): Attachment | undefined {
  const type = obx.value(2);
  if (type !== 'ED' && !TEXTS.has(type)) return undefined;
  const [read] = obx.repetitions(5);
  if (read === undefined) return undefined;
  const isRegular = type === 'ED' && read(5) !== undefined;
  const file = isRegular ? regularFile(read) : misplacedFile(obx, read);
  if (file === undefined) return undefined;
  const { bytes, contentType } = file;
  return {
    contentType,
    data: bytes.toString('base64'),
    size: bytes.length,
    hash: createHash('sha1').update(bytes).digest('base64'),
    ...(obx.value(3, 2) === undefined ? {} : { title: obx.value(3, 2) }),
  };
}

interface FileContent {
  bytes: Buffer;
  contentType: string;
}

function regularFile(read: ComponentReader): FileContent {
  const bytes = decoded(read.whole(5) ?? '', read(4));
  const contentType = contentTypeOf(read(2), read(3));
  return {
    bytes,
    contentType:
      contentType === UNKNOWN ? (beginningOf(bytes) ?? UNKNOWN) : contentType,
  };
}

/** The encoding is the component before the data, the type one before it. */
function misplacedFile(
  obx: Hl7Segment,
  read: ComponentReader,
): FileContent | undefined {
  const encodingAt = [1, 2, 3, 4].find((at) =>
    /^(?:base64|hex)$/i.test(read(at) ?? ''),
  );
  const data = read((encodingAt ?? 0) + 1) ?? '';
  if (!/^[A-Za-z0-9+/=\s]{8,}$/.test(data)) return undefined;
  const isHex = /^hex$/i.test(read(encodingAt ?? 0) ?? '');
  const bytes = decoded(data, isHex ? 'Hex' : 'Base64');
  const found = beginningOf(bytes);
  if (found === undefined) return undefined;
  obx.remark(5, 'repaired');
  return { bytes, contentType: found };
}

function contentTypeOf(main = '', sub = ''): string {
  const type = main.toLowerCase();
  const subtype = sub.toLowerCase();
  const named = `${type}/${subtype}`;
  return (
    TYPES[subtype] ??
    TYPES[type] ??
    (/^\w+\/[\w.+-]+$/.test(named) ? named : UNKNOWN)
  );
}

function beginningOf(bytes: Buffer): string | undefined {
  const text = bytes.subarray(0, 64).toString('latin1').trimStart();
  return BEGINNINGS.find(({ first }) => text.startsWith(first))?.contentType;
}

/** HL7 table 0299: `A` is text, `Hex` and `Base64` are what they say. */
function decoded(content: string, encoding: string | undefined): Buffer {
  if (encoding === 'A') return Buffer.from(content);
  return Buffer.from(
    content.replaceAll(/\s/g, ''),
    encoding === 'Hex' ? 'hex' : 'base64',
  );
}
