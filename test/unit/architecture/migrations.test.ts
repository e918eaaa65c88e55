import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const FOLDER = fileURLToPath(
  new URL(
    '../../../src/exchange/platform/database/migrations/',
    import.meta.url,
  ),
);
/**
 * The schema of 0.1.0: from the next one on, the previous build runs on the new
 * schema.
 */
const BASELINE = 1;

/**
 * What the code of the previous build does not survive, while it runs beside
 * this one or is put back in its place.
 */
const CONTRACTING: readonly [RegExp, string][] = [
  [
    /\bDROP\s+(?:TABLE|COLUMN|VIEW|SCHEMA|TYPE|ROLE)\b/i,
    'it may still read or write it',
  ],
  [/\bRENAME\b/i, 'it knows the old name'],
  [/\bSET\s+NOT\s+NULL\b/i, 'it may write NULL'],
  [
    /\bALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET\s+DATA\s+)?TYPE\b/i,
    'it may read or write the old type',
  ],
  [
    /\bADD\s+COLUMN\b(?=[^,;]*\bNOT\s+NULL\b)(?![^,;]*\b(?:DEFAULT|GENERATED)\b)/i,
    'it inserts without the column',
  ],
  [/\bADD\s+CONSTRAINT\b(?![^;]*\bNOT\s+VALID\b)/i, 'its rows may violate it'],
];

/** Why the previous build would not survive this SQL. */
function contractions(sql: string): string[] {
  const statements = sql.replace(/--.*$/gm, '').split(';');
  return statements.flatMap((statement) =>
    CONTRACTING.filter(([pattern]) => pattern.test(statement)).map(
      ([, why]) => `${statement.trim().split('\n')[0]}: ${why}`,
    ),
  );
}

const migrations = readdirSync(FOLDER)
  .filter(
    (name) => name.endsWith('.sql') && Number.parseInt(name, 10) > BASELINE,
  )
  .sort();

describe('the previous build runs on the schema of this one: migrations only expand it', () => {
  test.each(migrations)('%s', (name) => {
    expect(contractions(readFileSync(`${FOLDER}${name}`, 'utf8'))).toEqual([]);
  });

  test.each([
    'ALTER TABLE patient DROP COLUMN name',
    'ALTER TABLE patient RENAME COLUMN a TO b',
    'ALTER TABLE patient ALTER COLUMN a SET NOT NULL',
    'ALTER TABLE patient ALTER COLUMN a TYPE bigint',
    'ALTER TABLE patient ADD COLUMN a text, ADD COLUMN b text NOT NULL',
    'ALTER TABLE patient ADD CONSTRAINT c CHECK (a > 0)',
    'DROP TABLE patient',
  ])('what would break it is found: %s', (sql) => {
    expect(contractions(sql)).toHaveLength(1);
  });

  test.each([
    "ALTER TABLE patient ADD COLUMN a text[] NOT NULL DEFAULT '{}'",
    'CREATE TABLE t (a text NOT NULL); -- DROP TABLE later',
    'ALTER TABLE patient ADD COLUMN a text',
    'DROP INDEX patient_name',
  ])('what it survives is not: %s', (sql) => {
    expect(contractions(sql)).toEqual([]);
  });
});

test('every table of the schema says above its definition what it is for', () => {
  const sql = readdirSync(FOLDER).map((name) =>
    readFileSync(`${FOLDER}${name}`, 'utf8'),
  );
  const tables = [
    ...sql.join('\n').matchAll(/^(.*)\nCREATE (?:UNLOGGED )?TABLE (\w+)/gm),
  ];
  expect(tables.length).toBeGreaterThan(70);
  expect(
    tables.flatMap(([, above = '', name]) =>
      /^-- \S/.test(above) ? [] : [name],
    ),
  ).toEqual([]);
});
