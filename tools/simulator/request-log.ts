import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import {
  OPERATIONS,
  SOURCE_NAMES,
} from '../../src/local-stack/simulator/protocol.ts';

/**
 * One request to a source, or one callback from it. Contains ids of the source
 * only, never demographics.
 */
export const requestLogEntry = z.object({
  /** Sequence number in the order of completion; continues after a restart. */
  seq: z.int(),
  /** Time of the request, ISO 8601. */
  at: z.string(),
  source: z.enum(SOURCE_NAMES),
  operation: z.enum(OPERATIONS),
  method: z.string(),
  /** Without the query string. */
  path: z.string(),
  /** Key of the sample patient, if it is known. */
  sample: z.string().optional(),
  /** HTTP status; 0: no response was sent. */
  status: z.int(),
  /** The fault that was applied. */
  fault: z.string().optional(),
  ms: z.number(),
});
export type RequestLogEntry = z.infer<typeof requestLogEntry>;

export const logFilter = z.object({
  source: z.enum(SOURCE_NAMES).optional(),
  sample: z.string().optional(),
  operation: z.string().optional(),
  /** Only entries after this `seq`. */
  after: z.coerce.number().int().optional(),
});
export type LogFilter = z.output<typeof logFilter>;

/**
 * The log of all requests to the sources. Demo and tests use it as evidence
 * independent of the exchange.
 */
export class RequestLog {
  readonly #file: JsonlFile | undefined;
  #entries: RequestLogEntry[] = [];
  #seq = 0;
  private readonly entriesMax: number;

  /**
   * @param path file that keeps the log across restarts; default: in memory
   *   only
   */
  constructor(path: string | undefined, entriesMax = 200_000) {
    this.entriesMax = entriesMax;

    this.#file = path ? new JsonlFile(path) : undefined;
    for (const line of this.#file?.read() ?? []) {
      const entry = requestLogEntry.safeParse(line);
      if (entry.success) this.#keep(entry.data);
    }
  }

  add(entry: Omit<RequestLogEntry, 'seq'>): void {
    const numbered = { seq: this.#seq + 1, ...entry };
    this.#file?.append(numbered);
    this.#keep(numbered);
  }

  list(filter: LogFilter = {}): RequestLogEntry[] {
    return this.#entries.filter(
      (entry) =>
        (filter.source === undefined || entry.source === filter.source) &&
        (filter.sample === undefined || entry.sample === filter.sample) &&
        (filter.operation === undefined ||
          entry.operation === filter.operation) &&
        (filter.after === undefined || entry.seq > filter.after),
    );
  }

  #keep(entry: RequestLogEntry): void {
    this.#entries.push(entry);
    this.#seq = entry.seq;
    if (this.#entries.length > this.entriesMax)
      this.#entries = this.#entries.slice(this.entriesMax / 2);
  }
}

/**
 * An append-only file of JSON lines. Each line is written synchronously, so
 * that a killed process loses nothing; an incomplete last line is skipped when
 * the file is read again.
 */
export class JsonlFile {
  private readonly path: string;

  constructor(path: string) {
    this.path = path;

    mkdirSync(dirname(path), { recursive: true });
  }

  append(line: object): void {
    appendFileSync(this.path, `${JSON.stringify(line)}\n`);
  }

  read(): unknown[] {
    if (!existsSync(this.path)) return [];
    return readFileSync(this.path, 'utf8').split('\n').flatMap(parseLine);
  }
}

function parseLine(line: string): unknown[] {
  if (line === '') return [];
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}
