import { METADATA_FILE, XDM_FOLDER } from './xdm-names.ts';

/** A package of documents to write. */
export interface XdmToWrite {
  /** METADATA.XML, whose URIs are the documents' names. */
  metadata: string;

  /** Who sends it, for the page that people open. */
  sender: string;

  /** Of the files in it; the same package again is the same bytes. */
  madeAt: Date;

  documents: readonly XdmDocument[];
}

export interface XdmDocument {
  /** By `xdmFileName`. */
  name: string;
  title: string;
  content: Uint8Array;
}

const FOLDER = `${XDM_FOLDER}/SUBSET01`;

/**
 * The name of a document in a package: eight letters and three, as ISO 9660
 * has it.
 *
 * @param at from 0
 * @param fileName whose ending it keeps, if that is a short one
 */
export function xdmFileName(at: number, fileName: string): string {
  const [, ending = 'BIN'] = /\.([a-z0-9]{1,3})$/i.exec(fileName) ?? [];

  return `DOC${String(at + 1).padStart(5, '0')}.${ending.toUpperCase()}`;
}

/** Writes a package of documents as a zip (XDM, ITI TF-2 3.32.4.1.2). */
export async function writeXdm(xdm: XdmToWrite): Promise<Buffer> {
  const zip = await import('@zip.js/zip.js/lib/zip-core-native.js');
  const writer = new zip.ZipWriter(new zip.Uint8ArrayWriter(), {
    useWebWorkers: false,
    extendedTimestamp: false,
    lastModDate: xdm.madeAt,
  });
  const add = (name: string, content: Uint8Array) =>
    writer.add(name, new zip.Uint8ArrayReader(content));

  await add('INDEX.HTM', Buffer.from(indexPage(xdm)));
  await add('README.TXT', Buffer.from(readme(xdm)));
  await add(`${FOLDER}/${METADATA_FILE}`, Buffer.from(xdm.metadata));
  for (const { name, content } of xdm.documents)
    await add(`${FOLDER}/${name}`, content);

  return Buffer.from(await writer.close());
}

const indexPage = ({ sender, documents }: XdmToWrite): string =>
  `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Documents</title></head>
<body>
<h1>Documents</h1>
<p>Sent by ${escaped(sender)}. See <a href="README.TXT">README.TXT</a>.</p>
<ul>
${documents
  .map(
    ({ name, title }) =>
      `<li><a href="${FOLDER}/${name}">${escaped(title)}</a></li>`,
  )
  .join('\n')}
</ul>
</body>
</html>
`;

const readme = ({ sender }: XdmToWrite): string =>
  [
    'This package has documents about a patient, as IHE XDM describes it.',
    `Open INDEX.HTM to read them. Programs read ${FOLDER}/${METADATA_FILE}.`,
    `Sent by ${sender}, with medical-data-exchange.`,
    '',
  ].join('\r\n');

const ESCAPES = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
]);

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (letter) => ESCAPES.get(letter) ?? letter);
