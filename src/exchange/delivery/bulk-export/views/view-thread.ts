import { parentPort } from 'node:worker_threads';
import { isJson, type Json, objectsOf } from '#record-summary/fhir';
import { compileView, type ViewColumn, ViewError } from '#sql-on-fhir';
import { ndjsonOf, type SliceFile, type SliceTexts } from '../rules/files.ts';
import type { ViewPlan } from '../rules/view-run.ts';
import { createDeidentifier } from './deidentify.ts';
import { parseResource } from './parse-resource.ts';
import { TABLE_MEDIA_TYPES, tableFile } from './table-file.ts';

/**
 * A message to the thread: a slice as an export would write it. The thread
 * answers each with its files, in order.
 */
export interface TableJob {
  plan: ViewPlan;
  texts: readonly SliceTexts[];
  /**
   * The first slice writes a file of each view, so that there is one with its
   * columns.
   */
  isFirst: boolean;
  /**
   * Of an incremental run: the patients who have left. It also lists all
   * resources of the slice, whose earlier rows must go.
   */
  left?: readonly string[];
  safeHarbor?: Parameters<typeof createDeidentifier>[0];
}

export type TableAnswer = { files: SliceFile[] } | { fault: string };

/**
 * Columns of the rows that say whose earlier rows must go, before those of this
 * run are added.
 */
const DELETED: readonly ViewColumn[] = [
  'resource_type',
  'resource_key',
  'change',
].map((name) => ({
  name,
  type: 'string',
  isCollection: false,
}));

parentPort?.on('message', (job: TableJob) => {
  parentPort?.postMessage(answerOf(job));
});

function answerOf(job: TableJob): TableAnswer {
  try {
    return { files: filesOf(job) };
  } catch (error) {
    if (error instanceof ViewError) return { fault: error.message };
    throw error;
  }
}

function filesOf({
  plan,
  texts,
  isFirst,
  left,
  safeHarbor,
}: TableJob): SliceFile[] {
  const views = plan.views.map(({ name, definition }) => ({
    ...compileView(definition, () => true),
    name,
    rows: [] as unknown[][],
  }));
  const hidden = safeHarbor && createDeidentifier(safeHarbor);
  const deleted: unknown[][] = (left ?? []).map((id) => [
    'Patient',
    id,
    'gone',
  ]);
  const add = (resourceType: string, whole: Json) => {
    const json = hidden?.(whole) ?? whole;
    for (const { resource, rows, rowsOf } of views)
      if (resource === resourceType)
        for (const row of rowsOf(json)) rows.push(row);
    if (left !== undefined) deleted.push([resourceType, json.id, 'changed']);
  };
  for (const { kind, resourceType, texts: own } of texts)
    for (const text of own)
      if (kind === 'output') add(resourceType, parseResource(text));
      else if (kind === 'deleted') deleted.push(...goneIn(JSON.parse(text)));
  const tables = [
    ...views.map(({ name, columns, rows }) => ({
      kind: 'output' as const,
      name,
      columns,
      rows,
    })),
    {
      kind: 'deleted' as const,
      name: 'deleted',
      columns: DELETED,
      rows: deleted,
    },
  ].filter(
    ({ kind, rows }) => rows.length > 0 || (isFirst && kind === 'output'),
  );
  return [
    ...tables.map(({ kind, name, columns, rows }) => ({
      kind,
      resourceType: name,
      lines: rows.length,
      mediaType: TABLE_MEDIA_TYPES[plan.format],
      content: tableFile(plan.format, columns, rows),
    })),
    // The sentences about incomplete records name days.
    ...texts
      .filter(({ kind }) => kind === 'error' && !plan.isDeidentified)
      .map(ndjsonOf),
  ];
}

/** What a Bundle of an export with `_since` deletes. */
const goneIn = (bundle: Json): unknown[][] =>
  objectsOf(bundle.entry).map(({ request }) => [
    ...(isJson(request) ? String(request.url) : '').split('/'),
    'gone',
  ]);
