import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const EXCHANGE = fileURLToPath(
  new URL('../../../src/exchange/', import.meta.url),
);

/** Why a file may name the table and contents. */
const ALLOWED: Readonly<Record<string, string>> = {
  'delivery/documents/document-store.ts': 'opens its packs',
  'messaging/notifications/follow-up/follow-up-store.ts': 'counts rows',
  'messaging/notifications/recording/retire-own.sql': 'moves it, with its pack',
  'queries/network-query/collection-store.ts': 'counts rows',
  'records/conversion/conversion-store.ts': 'deletes rows',
  'records/deliveries/delivery-store.ts': 'asks whether there is a row',
  'records/deliveries/upsert-resources.sql': 'writes it',
  'records/merge/merge-store.ts': 'opens its packs',
  'records/merge/pending-deliveries.sql': 'asks for its size',
  'records/merge/retire.sql': 'moves it, with its pack',
  'records/reading/read-members.sql': 'opens its packs',
  'records/tables.ts': 'the columns',
};

/** Why a file may name `record_origin`, in which those of a record at rest are not. */
const NAMES_ORIGINS: Readonly<Record<string, string>> = {
  'records/merge/merge-store.ts': 'takes them out of packs first',
  'records/reading/read-members.sql': 'and those in packs',
  'records/reading/record-store.ts': 'and those in packs',
  'records/rules/delivery-facts.ts': 'a comment',
  'records/tables.ts': 'the columns',
};

const filesWith = (matches: (text: string) => boolean): string[] =>
  readdirSync(EXCHANGE, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|sql)$/.test(file))
    .filter((file) => !file.startsWith('platform/database/migrations/'))
    .filter((file) => matches(readFileSync(`${EXCHANGE}${file}`, 'utf8')))
    .sort();

test('what is delivered is read through delivered_resource, wherever its content is; other files are listed here', () => {
  const found = filesWith(
    (text) => /\bpatient_resource\b/.test(text) && /\bcontent\b/.test(text),
  );
  expect(found).toEqual(Object.keys(ALLOWED).sort());
});

test('what the merge knows of a delivery is read through merged_place and merged_origin, wherever it is; other files are listed here', () => {
  const found = filesWith((text) => /\brecord_origin\b/.test(text));
  expect(found).toEqual(Object.keys(NAMES_ORIGINS).sort());
});
