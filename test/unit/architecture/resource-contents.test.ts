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

test('what is delivered is read through delivered_resource, wherever its content is; other files are listed here', () => {
  const found = readdirSync(EXCHANGE, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|sql)$/.test(file))
    .filter((file) => !file.startsWith('platform/database/migrations/'))
    .filter((file) => {
      const text = readFileSync(`${EXCHANGE}${file}`, 'utf8');
      return /\bpatient_resource\b/.test(text) && /\bcontent\b/.test(text);
    });
  expect(found.sort()).toEqual(Object.keys(ALLOWED).sort());
});
