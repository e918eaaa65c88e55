import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { type Dispatcher, request } from 'undici';
import { v7 as uuidv7 } from 'uuid';

export interface RecordedCall {
  origin: string;
  path: string;
  method: Dispatcher.HttpMethod;
  headers: Dispatcher.DispatchOptions['headers'];
  body: string | undefined;
}

export interface RecordedStatement {
  sql: string;
  values: unknown[];
}

/**
 * A value that names rows: the text between the ids (even places) and the ids
 * (odd places), split once.
 */
class TextWithIds {
  private readonly parts: readonly string[];

  constructor(parts: readonly string[]) {
    this.parts = parts;
  }
  with(idFor: (recorded: string) => string): string {
    return this.parts
      .map((part, place) => (place % 2 === 0 ? part : idFor(part)))
      .join('');
  }
}

/** The requests and SQL statements of one source of one query, in order. */
export interface Recording {
  calls: RecordedCall[];
  statements: RecordedStatement[];
}

const current = new AsyncLocalStorage<Recording>();

/** Records the source calls and the SQL of `work`. */
export async function record(work: () => Promise<unknown>): Promise<Recording> {
  const recording: Recording = { calls: [], statements: [] };
  await current.run(recording, work);
  for (const statement of recording.statements)
    statement.values = statement.values.map(withIdsSplit);
  return recording;
}

/** For an undici dispatcher: records each request. */
export const callRecorder: Dispatcher.DispatcherComposeInterceptor =
  (dispatch) => (options, handler) => {
    const { origin, path, method, headers, body } = options;
    const text =
      typeof body === 'string' || Buffer.isBuffer(body)
        ? body.toString()
        : undefined;
    current.getStore()?.calls.push({
      origin: String(origin),
      path,
      method,
      headers,
      body: text,
    });
    return dispatch(options, handler);
  };

let counted = 0;

/**
 * How many statements the pg clients of this process have sent since
 * `recordStatements`.
 */
export const countStatements = (): number => counted;

/**
 * From now on, counts each statement of every pg client of this process, and
 * records those of `record`.
 */
export function recordStatements(): void {
  const prototype = pg.Client.prototype as unknown as {
    query: (...args: unknown[]) => unknown;
  };
  const { query } = prototype;
  prototype.query = function (this: unknown, ...args: unknown[]) {
    const [sql, values] = args;
    counted += 1;
    if (typeof sql === 'string')
      current
        .getStore()
        ?.statements.push({ sql, values: Array.isArray(values) ? values : [] });
    return query.apply(this, args);
  };
}

/** Repeats the recorded source calls and parses the responses. */
export async function replayCalls(
  calls: readonly RecordedCall[],
  dispatcher: Dispatcher,
): Promise<void> {
  for (const { origin, path, method, headers, body } of calls) {
    const answer = await request(new URL(path, origin), {
      method,
      headers: headers as Record<string, string>,
      body,
      dispatcher,
    });
    if (answer.statusCode >= 300)
      throw new Error(`The source answered ${answer.statusCode}`);
    JSON.parse(await answer.body.text());
  }
}

// Version 7: rows; version 5: the ids of webhook events, which follow from the
// patient and the query.
const UUID =
  /([0-9a-f]{8}-[0-9a-f]{4}-[57][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})/;

function withIdsSplit(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const parts = value.split(UUID);
  return parts.length === 1 ? value : new TextWithIds(parts);
}

/**
 * Repeats the recorded statements with other ids: the given ones, and new ones
 * for rows that the statements created.
 */
export async function replayStatements(
  statements: readonly RecordedStatement[],
  pool: pg.Pool,
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  const known = new Map(ids);
  const idFor = (recorded: string): string => {
    const id = known.get(recorded) ?? uuidv7();
    known.set(recorded, id);
    return id;
  };
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    for (const { sql, values } of statements)
      await client.query(
        sql,
        values.map((value) =>
          value instanceof TextWithIds ? value.with(idFor) : value,
        ),
      );
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw failure;
  } finally {
    // A client whose transaction failed is closed.
    client.release(failure);
  }
}
