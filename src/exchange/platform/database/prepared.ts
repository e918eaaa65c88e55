import { LRUCache } from 'lru-cache';

/** A statement is prepared once it has been asked so often in this process. */
const OFTEN = 5;
/** Statements whose use is counted; their texts differ by the number of rows. */
const COUNTED_MAX = 1_000;
/** Each connection keeps the plans of as many. */
const PREPARED_MAX = 250;
/** A longer list changes which plan is the best. */
const SHORT_MAX = 500;

const counts = new LRUCache<string, number>({ max: COUNTED_MAX });
const names = new Map<string, string>();

/**
 * The name under which a statement is prepared, so that PostgreSQL parses and
 * plans it once a connection and not each time
 * (docs/decisions/0700-what-is-asked-often-is-prepared.md). Undefined for one
 * that is seldom asked or has no parameters; that carries a long list, for which
 * it is planned; or that returns all columns, which PostgreSQL refuses once a
 * migration has added one.
 */
export function preparedName(
  text: unknown,
  values: unknown,
): string | undefined {
  if (typeof text !== 'string' || !Array.isArray(values)) return undefined;
  if (values.length === 0 || !values.every(isShort)) return undefined;
  return names.get(text) ?? nameIfOften(text);
}

function nameIfOften(text: string): string | undefined {
  const count = (counts.get(text) ?? 0) + 1;
  counts.set(text, count);
  const isPrepared =
    count >= OFTEN && names.size < PREPARED_MAX && !ALL_COLUMNS.test(text);
  if (!isPrepared) return undefined;
  counts.delete(text);
  const name = `often_${names.size + 1}`;
  names.set(text, name);
  return name;
}

/** `select *` and `returning e.*`, but neither `count(*)` nor a product. */
const ALL_COLUMNS = /(?:\b(?:select|returning)\s+|[,.]\s*)\*/i;

const isShort = (value: unknown): boolean =>
  (Array.isArray(value) ? value.length : (lengths.get(value as Buffer) ?? 0)) <=
  SHORT_MAX;

const lengths = new WeakMap<Buffer, number>();

/** Says of a value in PostgreSQL's binary format that it is such a list. */
export function listOf(value: Buffer, items: number): Buffer {
  lengths.set(value, items);
  return value;
}
