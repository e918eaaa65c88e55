import type { ExportFileKind } from './export-request.ts';
import type { ViewPlan } from './view-run.ts';

/** What one slice wrote for one file. */
export interface ExportPart {
  kind: ExportFileKind;
  resourceType: string;
  lines: number;
  ref: string;
  sizeBytes: number;
  /** Hex digest. */
  sha256: string;
}

/** The lines of a slice for one file, as JSON texts with their line ends. */
export interface SliceTexts extends Pick<ExportPart, 'kind' | 'resourceType'> {
  texts: readonly string[];
}

/**
 * What a slice writes into one file. Of a table, `resourceType` is the name of
 * its view.
 */
export interface SliceFile
  extends Pick<ExportPart, 'kind' | 'resourceType' | 'lines'> {
  content: Uint8Array;
  mediaType: string;
}

export const ndjsonOf = ({ texts, ...file }: SliceTexts): SliceFile => ({
  ...file,
  lines: texts.length,
  content: Buffer.from(texts.join('')),
  mediaType: 'application/fhir+ndjson',
});

/** A file of the manifest: consecutive parts of one kind and type. */
export interface ExportFile {
  /**
   * `Observation.1.ndjson`; for files other than output, `deleted.1.ndjson` and
   * `error.1.ndjson`. Of a view: `results.1.parquet`.
   */
  name: string;
  kind: ExportFileKind;
  resourceType: string;
  count: number;
  sizeBytes: number;
  refs: string[];
  /** SHA-256 of the first part. */
  sha256: string;
}

/** A file ends with the part that makes it this large. */
export const FILE_BYTES = 100_000_000;

/**
 * Groups parts, in order of kind, type and slice, into files. The same parts
 * always make the same files.
 *
 * @param plan of a run of views, where each part is a file
 */
export function exportFiles(
  parts: readonly ExportPart[],
  plan: ViewPlan | null = null,
  fileBytes = plan === null ? FILE_BYTES : 0,
): ExportFile[] {
  const files: ExportFile[] = [];
  const numbers = new Map<string, number>();
  let open: ExportFile | undefined;
  for (const { kind, resourceType, lines, ref, sizeBytes, sha256 } of parts) {
    const isSame =
      open?.kind === kind &&
      open.resourceType === resourceType &&
      open.sizeBytes < fileBytes;
    if (open === undefined || !isSame) {
      const stem = kind === 'output' ? resourceType : kind;
      const number = (numbers.get(stem) ?? 0) + 1;
      numbers.set(stem, number);
      const name = `${stem}.${number}.${plan === null || kind === 'error' ? 'ndjson' : plan.format}`;
      open = {
        name,
        kind,
        resourceType,
        count: 0,
        sizeBytes: 0,
        refs: [],
        sha256,
      };
      files.push(open);
    }
    open.count += lines;
    open.sizeBytes += sizeBytes;
    open.refs.push(ref);
  }
  return files;
}

/** The manifest of a completed export. */
export function manifestOf(
  row: { request: string; transaction_time: Date; since: Date | null },
  files: readonly ExportFile[],
  statusUrl: string,
) {
  const listed = (kind: ExportFile['kind']) =>
    files
      .filter((file) => file.kind === kind)
      .map(({ resourceType, name, count, sizeBytes, sha256, refs }) => ({
        type: resourceType,
        url: `${statusUrl}/${name}`,
        count,
        sizeBytes,
        ...(refs.length === 1 && { sha256 }),
      }));
  return {
    transactionTime: row.transaction_time.toISOString(),
    request: row.request,
    ...(row.since !== null && { since: row.since.toISOString() }),
    requiresAccessToken: true,
    output: listed('output'),
    deleted: listed('deleted'),
    error: listed('error'),
  };
}
