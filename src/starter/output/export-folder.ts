import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { UsageError } from '../errors.ts';
import type { ExportManifest } from '../target/bulk-exports.ts';
import { prepareOutFolder, replace } from './out-folder.ts';

export interface ManifestFile {
  kind: 'output' | 'deleted' | 'error';
  name: string;
  type: string;
  /** Lines, or rows of a table, if the manifest gives their number. */
  count?: number;
  /** Older exchanges do not give it. */
  sizeBytes?: number;
}

/** Readable by the owner only: the content is about patients. */
const MODE = 0o600;
const MANIFEST = 'manifest.json';

/** The files of a manifest, named by the last part of their addresses. */
export const manifestFiles = (manifest: ExportManifest): ManifestFile[] =>
  (['output', 'deleted', 'error'] as const).flatMap((kind) =>
    manifest[kind].map(({ url, ...file }) => ({
      ...file,
      kind,
      name: safeName(url),
    })),
  );

/**
 * The name comes from the exchange: it must not lead out of the folder, nor
 * replace the manifest.
 */
function safeName(url: string): string {
  const name = basename(url.split(/[?#]/)[0] ?? '');
  if (/^\w[\w.-]*$/.test(name) && name !== MANIFEST) return name;
  throw new Error(
    'The manifest of the export names a file that cannot be saved.',
  );
}

/**
 * Prepares a folder for an export that is yet to start. Throws UsageError when
 * it contains another one.
 */
export async function prepareExportFolder(folder: string): Promise<void> {
  await prepareOutFolder(folder);
  if (existsSync(join(folder, MANIFEST))) throw anotherExport(folder);
}

/**
 * Prepares a folder for the files of one export, and saves its manifest there.
 * Throws UsageError when the folder contains another export, because its files
 * have the same names.
 */
export async function openExportFolder(
  folder: string,
  manifest: ExportManifest,
): Promise<void> {
  await prepareOutFolder(folder);
  const path = join(folder, MANIFEST);
  const found = await readFile(path, 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    },
  );
  const isSame =
    found !== undefined &&
    manifestContent(found) === manifestContent(JSON.stringify(manifest));
  if (isSame) return;
  const isTaken = manifestFiles(manifest).some(({ name }) =>
    existsSync(join(folder, name)),
  );
  if (found !== undefined || isTaken) throw anotherExport(folder);
  await replace(path, (unfinished) =>
    writeFile(unfinished, pretty(manifest), { mode: MODE }),
  );
}

/** What stays the same when the exchange gets another address. */
function manifestContent(text: string): string | undefined {
  try {
    const manifest = JSON.parse(text) as ExportManifest;
    return JSON.stringify([manifest.transactionTime, manifestFiles(manifest)]);
  } catch {
    return undefined;
  }
}

const anotherExport = (folder: string): UsageError =>
  new UsageError(
    `${folder} contains another export. Pass another folder as --out.`,
  );

/** Whether the file is there as a whole. */
export const isComplete = async (
  folder: string,
  { name, sizeBytes }: ManifestFile,
): Promise<boolean> => {
  const found = await stat(join(folder, name)).catch(() => undefined);
  return (
    found !== undefined && (sizeBytes === undefined || found.size === sizeBytes)
  );
};

/** Saves a file under its name once it has all of its bytes. */
export async function saveExportFile(
  folder: string,
  { name, sizeBytes }: ManifestFile,
  content: AsyncIterable<Uint8Array>,
  {
    signal,
    onBytes,
  }: { signal: AbortSignal; onBytes: (added: number) => void },
): Promise<void> {
  let came = 0;
  await replace(join(folder, name), async (unfinished) => {
    async function* counted() {
      for await (const piece of content) {
        came += piece.length;
        onBytes(piece.length);
        yield piece;
      }
    }
    await writeFile(unfinished, counted(), { mode: MODE, signal });
    if (sizeBytes !== undefined && came !== sizeBytes)
      throw new Error(
        `${name} came with ${came} bytes, but the manifest says ${sizeBytes}. It was not saved; run the command again.`,
      );
  });
}

const pretty = (manifest: ExportManifest): string =>
  `${JSON.stringify(manifest, null, 2)}\n`;
