import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { createExportRunner } from '../../src/exchange/delivery/bulk-export/run-export.ts';
import type { TableMaker } from '../../src/exchange/delivery/bulk-export/views/table-maker.ts';
import type { FhirDoor } from './fhir-door.ts';
import { TEST_BASE_URL } from './gateway.ts';

export type Row = Record<string, unknown>;

/** A file of a completed run. */
export interface RunFile {
  name: string;
  kind: string;
  url: string;
  rows: number;
  sha256: string;
  content: Buffer;
}

type ManifestFile = {
  type: string;
  url: string;
  count: number;
  sha256: string;
};
interface Manifest
  extends Record<'output' | 'deleted' | 'error', ManifestFile[]> {
  transactionTime: string;
  since?: string;
  views: {
    name: string;
    columns: { name: string; type: string; stored: string }[];
  }[];
}

export interface CompletedRun {
  exportId: string;
  manifest: Manifest;
  files: RunFile[];
}

const HEADERS = {
  prefer: 'respond-async',
  'content-type': 'application/fhir+json',
};
export const SLICE = { bytes: 60_000, patients: 1 };

/** Runs of views over a door's records, made in this process. */
export function viewRunsOf(door: FhirDoor) {
  const runnerOf = (blobs = door.blobs, slice = SLICE, tablesOf?: TableMaker) =>
    createExportRunner({
      ...door,
      blobs,
      publicBaseUrl: TEST_BASE_URL,
      slice,
      tablesOf,
    });

  const start = (
    views: readonly (string | object)[],
    options: Row = {},
    headers: object = {},
  ) =>
    door.call(
      'POST',
      'ViewDefinition/$viewdefinition-export',
      { ...HEADERS, ...headers },
      {
        resourceType: 'Parameters',
        parameter: [
          ...views.map((view) => ({
            name: 'view',
            part: [
              typeof view === 'string'
                ? {
                    name: 'viewReference',
                    valueReference: { reference: `ViewDefinition/${view}` },
                  }
                : { name: 'viewResource', resource: view },
            ],
          })),
          ...Object.entries(options).map(([name, value]) =>
            typeof value === 'boolean'
              ? { name, valueBoolean: value }
              : typeof value === 'string'
                ? { name, valueCode: value }
                : { name, valueReference: value },
          ),
        ],
      },
    );

  async function started(
    views: readonly (string | object)[],
    options: Row = {},
  ): Promise<string> {
    const response = await start(views, options);
    if (response.statusCode !== 202)
      throw new Error(`${response.statusCode} ${response.body}`);
    return String(response.headers['content-location']).split('/').at(-1) ?? '';
  }

  async function completed(exportId: string): Promise<CompletedRun> {
    const status = await door.get(`bulk-export/${exportId}`);
    if (status.statusCode !== 200)
      throw new Error(`${status.statusCode} ${status.body}`);
    const manifest: Manifest = status.json();
    const files: RunFile[] = [];
    for (const kind of ['output', 'deleted', 'error'] as const)
      for (const { type, url, count, sha256 } of manifest[kind])
        files.push({
          kind,
          name: type,
          url,
          sha256,
          rows: count,
          content: (await door.get(url)).rawPayload,
        });
    return { exportId, manifest, files };
  }

  async function run(
    views: readonly (string | object)[],
    options: Row = {},
    runner = runnerOf(),
  ): Promise<CompletedRun> {
    const exportId = await started(views, options);
    const of = { accountId: door.accountId, exportId };
    await runner.listPatients(of);
    await runner.writeSlices(of);
    return completed(exportId);
  }
  return { runnerOf, start, started, completed, run };
}

/** All rows of a view's files, as DuckDB reads them. */
export async function readByDuckDb(
  files: readonly RunFile[],
  name: string,
  format: string,
  query = 'select * from t',
): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'views-'));
  const own = files.filter((file) => file.name === name);
  for (const [index, { content }] of own.entries())
    await writeFile(join(folder, `${index}.${format}`), content);
  const reader = {
    parquet: 'read_parquet',
    csv: 'read_csv',
    ndjson: 'read_json',
  }[format];
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const options = format === 'csv' ? ', all_varchar = true' : '';
    await connection.run(
      `create view t as select * from ${reader}('${folder}/*.${format}'${options})`,
    );
    return (await connection.runAndReadAll(query)).getRowObjectsJS() as Row[];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
