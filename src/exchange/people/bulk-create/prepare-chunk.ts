import { setImmediate as otherWork } from 'node:timers/promises';
import type { BlobRef, BlobStore } from '../../../shared/blobs/blob-store.ts';
import { isScientific } from '../../../shared/bulk-csv/cell-rules.ts';
import type { CsvLayout } from '../../../shared/bulk-csv/layout.ts';
import { parseRecords } from '../../../shared/bulk-csv/records.ts';
import type {
  CellId,
  RowError,
  RowReader,
} from '../../../shared/bulk-csv/row.ts';
import type { Demographics } from '../patients/rules/demographics.ts';
import {
  identityKeyTexts,
  ownKeyTexts,
} from '../patients/rules/identity-keys.ts';
import type { StatedFacts } from '../patients/rules/patient-content.ts';
import { normaliseDemographics } from '../patients/rules/patient-normalisation.ts';
import type { OpenChunk } from './chunk-store.ts';
import { resultCells } from './result-csv.ts';

/** What reading the chunks of one request needs. */
export interface ChunkReader {
  blobs: Pick<BlobStore, 'getRange'>;
  upload: BlobRef;
  readRow: RowReader;
  layout: CsvLayout;
  hmacKey: string;
  accountId: string;
}

/** A row, checked as far as possible without the database. */
export interface PreparedRow {
  /** Number of the row in the file. */
  row: number;
  /** The cells of the row, as in the result CSV. */
  line: string;
  errors: RowError[];
  facility?: CellId;
  cohorts: CellId[];
  /** Set when the row is valid on its own. */
  person?: PreparedPerson;
}

export interface PreparedPerson {
  given: Demographics;
  facts: StatedFacts;
  /** Identity keys as Latin-1 text. */
  keys: string[];
  /**
   * Keys of the person's own SSN or licence, needed when another person has the
   * other keys.
   */
  ownKeys(): string[];
}

export interface PreparedChunk extends OpenChunk {
  lines: PreparedRow[];
  /** The identity keys of all its persons. */
  keys: ReadonlySet<string>;
}

/**
 * After so many rows, whatever else the process has to do takes its turn. On a
 * machine with a load of 16, a chunk of 2,000 rows took 4 to 6 s at a time, and
 * workflow tasks that waited for it met their limit of 10 s.
 */
const ROWS_AT_ONCE = 50;

/**
 * Reads a chunk's bytes and checks its rows: the part of the work that does not
 * need the database.
 */
export async function prepareChunk(
  reader: ChunkReader,
  chunk: OpenChunk,
): Promise<PreparedChunk> {
  const bytes = await reader.blobs.getRange(
    reader.upload.ref,
    chunk.byteStart,
    chunk.byteEnd,
  );
  const records = parseRecords(bytes);
  if (records.length !== chunk.rows)
    throw new Error(
      `Chunk ${chunk.chunk} has ${records.length} rows, but the format check counted ${chunk.rows}`,
    );
  const lines: PreparedRow[] = [];
  for (const cells of records) {
    if (lines.length % ROWS_AT_ONCE === 0) await otherWork();
    lines.push(prepareRow(reader, cells, chunk.firstRow + lines.length));
  }
  const keys = new Set<string>();
  for (const { person } of lines)
    for (const key of person?.keys ?? []) keys.add(key);
  return { ...chunk, lines, keys };
}

function prepareRow(
  { readRow, layout, hmacKey, accountId, upload }: ChunkReader,
  cells: string[],
  row: number,
): PreparedRow {
  const line = resultCells(cells, layout);
  const { value, errors, facility, cohorts } = readRow(cells);
  if (value === undefined) return { row, line, errors, facility, cohorts };
  const given = normaliseDemographics(value.patient);
  const { externalId, status } = value.patient;
  const keys = identityKeyTexts(hmacKey, accountId, {
    ...given,
    // What is left of it may be that of many.
    externalId: isScientific(externalId ?? '') ? undefined : externalId,
    sentAs: [upload.sha256, String(row)],
  });
  let own: string[] | undefined;
  const hasOwn = keys.length > 0 && given.personalIdentifiers.length > 0;
  const ownKeys = () =>
    (own ??= hasOwn ? ownKeyTexts(hmacKey, accountId, given) : []);
  const person = { given, facts: { externalId, status }, keys, ownKeys };
  return { row, line, errors, facility, cohorts, person };
}
