import type { FileKind } from './export-request.ts';

/** What one slice wrote for one file. */
export interface ExportPart {
  kind: FileKind;
  resourceType: string;
  lines: number;
  ref: string;
  sizeBytes: number;
}

/** A file of the manifest: consecutive parts of one kind and type. */
export interface ExportFile {
  /** `Observation.1.ndjson`; for files other than output, `deleted.1.ndjson` and `error.1.ndjson`. */
  name: string;
  kind: FileKind;
  resourceType: string;
  count: number;
  sizeBytes: number;
  refs: string[];
}

/** A file ends with the part that makes it this large. */
export const FILE_BYTES = 100_000_000;

/** Groups parts, in order of kind, type and slice, into files. The same parts always make the same files. */
export function filesOf(parts: readonly ExportPart[], fileBytes = FILE_BYTES): ExportFile[] {
  const files: ExportFile[] = [];
  const numbers = new Map<string, number>();
  let open: ExportFile | undefined;
  for (const { kind, resourceType, lines, ref, sizeBytes } of parts) {
    const isSame = open?.kind === kind && open.resourceType === resourceType && open.sizeBytes < fileBytes;
    if (open === undefined || !isSame) {
      const stem = kind === 'output' ? resourceType : kind;
      const number = (numbers.get(stem) ?? 0) + 1;
      numbers.set(stem, number);
      open = { name: `${stem}.${number}.ndjson`, kind, resourceType, count: 0, sizeBytes: 0, refs: [] };
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
  { request, transaction_time: transactionTime }: { request: string; transaction_time: Date },
  files: readonly ExportFile[],
  statusUrl: string,
) {
  const listed = (kind: ExportFile['kind']) =>
    files
      .filter((file) => file.kind === kind)
      .map(({ resourceType, name, count }) => ({ type: resourceType, url: `${statusUrl}/${name}`, count }));
  return {
    transactionTime: transactionTime.toISOString(),
    request,
    requiresAccessToken: true,
    output: listed('output'),
    deleted: listed('deleted'),
    error: listed('error'),
  };
}
