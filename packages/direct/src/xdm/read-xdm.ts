import type { Entry, FileEntry, ZipReader } from '@zip.js/zip.js';
import { DirectError } from '../direct-error.ts';
import { METADATA_FILE, XDM_FOLDER } from './xdm-names.ts';

/** A package of documents (XDM), as its reader finds it. */
export interface XdmPackage {
  /** METADATA.XML of its one submission set. */
  metadata: Buffer;

  /** The files beside the metadata and in folders there. */
  files: XdmFile[];
}

/** A file of a package. */
export interface XdmFile {
  /** Relative to the metadata, as the package has it: `DOC00001.XML`. */
  path: string;
  content: Buffer;
}

/** What is read of a package at most. */
export interface XdmLimits {
  /** Names in the package, of folders too. */
  entries: number;

  /** Of the metadata, and of all that is beside them, unpacked. */
  metadataBytes: number;
  bytes: number;
}

export const XDM_LIMITS: XdmLimits = {
  entries: 1_000,
  metadataBytes: 5_000_000,
  bytes: 25_000_000,
};

/**
 * Reads a package of documents: a zip with `IHE_XDM/<set>/METADATA.XML` (XDM,
 * ITI TF-2 3.32.4.1.2). Names are compared as its file system does, without
 * case; what is not beside the metadata is left aside. No file is written.
 *
 * @returns undefined for bytes that are no such package
 * @throws {DirectError} `package` with a reason for its sender: it is damaged,
 *   encrypted or too large, has several submission sets, or names that a
 *   package may not have
 */
export async function readXdm(
  bytes: Uint8Array,
  limits: XdmLimits = XDM_LIMITS,
): Promise<XdmPackage | undefined> {
  if (!isZip(bytes)) return undefined;

  // Loaded when it is needed: it takes a process some 150 ms.
  const zip = await import('@zip.js/zip.js/lib/zip-core-native.js');
  const reader = new zip.ZipReader(new zip.Uint8ArrayReader(bytes), {
    checkOverlappingEntry: true,
    checkSignature: true,
    useWebWorkers: false,
  });

  try {
    return await readPackage(reader, limits);
  } catch (error) {
    // Of a zip that cannot be read, only its bytes say what it would be.
    if (!mentionsXdm(bytes)) return undefined;
    if (error instanceof DirectError) throw error;
    const { message } = error as Error;
    throw refused(
      message === zip.ERR_UNSAFE_FILENAME
        ? 'names a file outside of itself'
        : message === zip.ERR_ENCRYPTED
          ? ENCRYPTED
          : 'is damaged',
    );
  }
}

const ENCRYPTED = 'is encrypted with a password';

/**
 * The file that a document's URI names. URIs may be percent-encoded; what they
 * name outside of the set is nothing.
 */
export function fileOfXdm(
  { files }: Pick<XdmPackage, 'files'>,
  uri: string,
): XdmFile | undefined {
  const name = comparable(decoded(uri));

  return files.find(({ path }) => comparable(path) === name);
}

async function readPackage(
  reader: ZipReader<unknown>,
  limits: XdmLimits,
): Promise<XdmPackage | undefined> {
  const entries = await listEntries(reader, limits);
  const sets = setsOf(entries);
  const [folder] = sets;
  if (folder === undefined) return undefined;
  if (sets.length > 1)
    throw refused('has several submission sets; send each by itself');

  const taken = new Set<string>();
  const files: XdmFile[] = [];
  let metadata: Buffer | undefined;
  let left = limits.bytes;

  for (const entry of entries) {
    const name = comparable(entry.filename);
    if (entry.directory || !name.startsWith(folder)) continue;
    if (taken.has(name)) throw refused('has two files of one name');
    if (entry.encrypted) throw refused(ENCRYPTED);
    taken.add(name);

    if (name === `${folder}${METADATA_FILE}`) {
      metadata = await unpacked(entry, limits.metadataBytes);
      continue;
    }
    const content = await unpacked(entry, left);
    left -= content.length;
    files.push({ path: pathWithin(folder, entry.filename), content });
  }

  return metadata && { metadata, files };
}

async function listEntries(
  reader: ZipReader<unknown>,
  limits: XdmLimits,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  const listed = reader.getEntriesGenerator({
    normalizeFilename: (name) => name.replaceAll('\\', '/'),
  });

  for await (const entry of listed) {
    entries.push(entry);
    if (entries.length > limits.entries)
      throw refused(`has more than ${limits.entries} entries`);
  }

  return entries;
}

/** The folders that have metadata, in the form that is compared. */
function setsOf(entries: readonly Entry[]): string[] {
  const names = entries
    .map(({ filename }) => comparable(filename))
    .filter((name) => name.startsWith(`${XDM_FOLDER}/`))
    .filter((name) => name.endsWith(`/${METADATA_FILE}`));

  return [...new Set(names)].map((name) =>
    name.slice(0, -METADATA_FILE.length),
  );
}

/** The bytes of a file, which are counted while they are unpacked. */
async function unpacked(entry: FileEntry, bytesMax: number): Promise<Buffer> {
  const tooLarge = refused('has more in it than is taken');
  if (entry.uncompressedSize > bytesMax) throw tooLarge;

  const chunks: Uint8Array[] = [];
  let length = 0;
  const sink = new WritableStream<Uint8Array>({
    write(chunk) {
      length += chunk.length;
      if (length > bytesMax) throw tooLarge;
      chunks.push(chunk);
    },
  });
  await entry.getData(sink);

  return Buffer.concat(chunks, length);
}

/** The first bytes of a zip; one that begins otherwise is not looked into. */
const isZip = ([first, second, third, fourth]: Uint8Array): boolean =>
  first === 0x50 && second === 0x4b && third === 3 && fourth === 4;

const mentionsXdm = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(
    XDM_FOLDER,
  );

/** Names of files are those of ISO 9660: without case. */
const comparable = (name: string): string =>
  name
    .replaceAll('\\', '/')
    .replace(/^(\.\/)+/, '')
    .toUpperCase();

const pathWithin = (folder: string, name: string): string =>
  name.replace(/^(\.\/)+/, '').slice(folder.length);

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

const refused = (what: string): DirectError =>
  new DirectError('package', `The package of documents (XDM) ${what}.`);
