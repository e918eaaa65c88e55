import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DISTRICTS } from './import-rules.ts';

const EXCHANGE = fileURLToPath(new URL('../src/exchange/', import.meta.url));

/**
 * Room by room of the exchange, the tables of other rooms that its SQL names:
 * `{ 'queries/sweep': { 'people/patients': ['patient'] } }`.
 */
export type TableUse = Record<string, Record<string, string[]>>;

/**
 * Reads the table names from all Kysely calls, SQL templates and SQL files of
 * the exchange. A room owns what its `tables.ts` declares.
 */
export function foundTableUse(): TableUse {
  const files = readdirSync(EXCHANGE, { recursive: true, encoding: 'utf8' })
    .filter(
      (file) =>
        /\.(?:ts|sql)$/.test(file) &&
        file.includes('/') &&
        !file.includes('/migrations/'),
    )
    .sort();
  const texts = new Map(
    files.map((file) => [file, readFileSync(join(EXCHANGE, file), 'utf8')]),
  );
  const owners = new Map<string, string>();
  for (const [file, text] of texts)
    if (file.endsWith('/tables.ts'))
      for (const table of tablesDeclaredIn(text))
        owners.set(table, roomOf(file));
  const use: TableUse = {};
  for (const [file, text] of texts) {
    const room = roomOf(file);
    for (const table of tablesNamedIn(
      file.endsWith('.sql') ? `\`${text}\`` : text,
    )) {
      const owner = owners.get(table);
      if (owner === undefined || owner === room) continue;
      const owned = use[room]?.[owner] ?? [];
      use[room] = { ...use[room], [owner]: [...new Set([...owned, table])] };
    }
  }
  return sorted(use);
}

/**
 * The uses whose owner stands in a higher district than the room, as `room:
 * table of owner`.
 */
export const upwardUse = (use: TableUse): string[] =>
  Object.entries(use).flatMap(([room, owners]) =>
    Object.entries(owners)
      .filter(([owner]) => level(owner) > level(room))
      .flatMap(([owner, tables]) =>
        tables.map((table) => `${room}: ${table} of ${owner}`),
      ),
  );

const level = (room: string): number =>
  DISTRICTS.findIndex((district) => room.startsWith(district));

/** The record is one room, whatever folders it has. */
export const roomOf = (file: string): string =>
  file.startsWith('records/')
    ? 'records'
    : file.split('/').slice(0, 2).join('/');

const tablesDeclaredIn = (text: string): string[] =>
  [...text.matchAll(/^ {2}interface Database \{(.*?)^ {2}\}/gms)].flatMap(
    ([, members = '']) =>
      [...members.matchAll(/^ {4}(\w+):/gm)].map(([, table = '']) => table),
  );

const IN_KYSELY =
  /\.(?:selectFrom|insertInto|updateTable|deleteFrom|mergeInto|innerJoin|leftJoin|using|from)\(\s*'(\w+)/g;
const IN_SQL =
  /\b(?:from|join|into|update|using|table)\s+(?:only\s+)?(\w+)\b/gi;
const NAMED_IN_WITH =
  /\b(?:with|,)\s*(?:recursive\s+)?(\w+)\s+as\s+(?:not\s+)?(?:materialized\s+)?\(/gi;

function tablesNamedIn(text: string): Set<string> {
  const templates = [...text.matchAll(/`[^`]*`/g)]
    .map(([template]) => template)
    .join('\n');
  const own = new Set(
    [...templates.matchAll(NAMED_IN_WITH)].map(([, name]) => name),
  );
  const inSql = [...templates.matchAll(IN_SQL)]
    .map(([, name = '']) => name)
    .filter((name) => !own.has(name));
  return new Set([
    ...inSql,
    ...[...text.matchAll(IN_KYSELY)].map(([, name = '']) => name),
  ]);
}

const sorted = (use: TableUse): TableUse =>
  Object.fromEntries(
    Object.entries(use)
      .sort(([left], [right]) => left.localeCompare(right))
      .map(([room, owners]) => [
        room,
        Object.fromEntries(
          Object.entries(owners)
            .sort(([left], [right]) => left.localeCompare(right))
            .map(([owner, tables]) => [owner, tables.sort()]),
        ),
      ]),
  );
