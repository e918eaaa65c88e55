import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { DocumentFormat } from '../../contract/documents.ts';
import { mapAtMost } from '../../lib/at-most.ts';
import { counted } from '../../lib/counted.ts';
import { renderTable } from '../../lib/table.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { ResponseOf } from '../../orchestrator/client/responses.ts';
import { prepareOutFolder, saveAside } from '../output/out-folder.ts';
import { createDownloads } from '../target/download.ts';
import type { Target } from '../target/target.ts';
import type { StarterCommand, StarterCommandOptions } from './command.ts';

export interface DocumentsOptions extends StarterCommandOptions {
  out?: string;
  format?: DocumentFormat;
  from?: string;
  to?: string;
  content?: string;
}

const AT_ONCE = 4;
const HEAD = ['document', 'file', 'type', 'bytes', 'filed', 'description'];
/** What a person looks for among saved files; `--json` has all. */
const HEAD_SAVED = ['filed', 'description', 'size', 'saved as'];

/**
 * Lists a patient's documents. With `out`, downloads them into that folder;
 * C-CDA documents are converted to `format`. Throws UsageError,
 * ExchangeCallError.
 */
export const documents: StarterCommand<[string, DocumentsOptions]> = async (
  patientId,
  { out, format, from, to, content },
  { target, terminal },
) => {
  if (out !== undefined) await prepareOutFolder(out);
  const { answer } = await target.exchange.call('listDocuments', {
    query: { patientId, output: 'dto', dateFrom: from, dateTo: to, content },
  });
  const found = answer.documents;
  if (found.length === 0) {
    const lines = ['No documents found for this patient.'];
    return {
      lines,
      document: { command: 'documents', patientId, documents: [] },
    };
  }
  let done = 0;
  const saved = await mapAtMost(
    out === undefined ? [] : found,
    AT_ONCE,
    async ({ fileName }) => {
      const path = await fetchOne(target, fileName, out ?? '', format);
      done += 1;
      // Elsewhere each change would be a line of its own.
      if (terminal.live.redraws)
        terminal.live.set('documents', [
          `${done} of ${found.length} downloaded`,
        ]);
      return path;
    },
  );
  return {
    lines:
      out === undefined
        ? renderTable(HEAD, found.map(listedRow))
        : [
            ...renderTable(
              HEAD_SAVED,
              found.map((each, index) => savedRow(each, saved[index] ?? '')),
            ),
            `${counted(found.length, 'document')} saved in ${out}`,
          ],
    document: {
      command: 'documents',
      patientId,
      documents: found.map((each, index) => ({
        ...each,
        savedAs: saved[index],
      })),
    },
  };
};

type Listed = ResponseOf<'listDocuments'>['documents'][number];

const listedRow = ({
  id,
  fileName,
  mimeType,
  size,
  indexed,
  description,
}: Listed): string[] => [
  id,
  fileName,
  mimeType ?? '',
  String(size ?? ''),
  indexed?.slice(0, 10) ?? '',
  description ?? '',
];

const savedRow = (
  { size, indexed, description, mimeType }: Listed,
  path: string,
): string[] => [
  indexed?.slice(0, 10) ?? '',
  description ?? mimeType ?? '',
  typeof size === 'number' ? `${Math.ceil(size / 1_000)} kB` : '',
  basename(path),
];

/**
 * Downloads one document, unconverted if it cannot be converted. Returns the
 * path of the file.
 */
async function fetchOne(
  target: Target,
  fileName: string,
  folder: string,
  format?: DocumentFormat,
): Promise<string> {
  const urlOf = async (conversionType?: DocumentFormat) =>
    (
      await target.exchange.call('getDocumentUrl', {
        query: { fileName, conversionType },
      })
    ).answer.url;
  const converted =
    format && (await urlOf(format).catch(undefinedIfUnconvertible));
  const bytes = await buffer(
    await createDownloads().download(converted ?? (await urlOf())),
  );
  // The name comes from the source: it must not lead out of this folder.
  const name =
    basename(fileName)
      .replaceAll(/[^\w.-]/g, '_')
      .replace(/^\.+/, '') || 'document';
  const path = join(
    folder,
    converted === undefined ? name : `${name.replace(/\.\w+$/, '')}.${format}`,
  );
  return saveAside(
    path,
    Readable.from([bytes]),
    createHash('sha256').update(bytes).digest('hex'),
  );
}

function undefinedIfUnconvertible(error: unknown): undefined {
  if (
    error instanceof ExchangeCallError &&
    (error.httpStatus === 400 || error.httpStatus === 422)
  )
    return undefined;
  throw error;
}
