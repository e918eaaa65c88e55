import type { ExportFile } from './files.ts';

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
