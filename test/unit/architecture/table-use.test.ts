import { expect, test } from 'vitest';
import { DECLARED_TABLE_USE } from '../../../scripts/declared-table-use.ts';
import { foundTableUse, upwardUse } from '../../../scripts/table-use.ts';

test('DECLARED_TABLE_USE names each table of another room that a room’s SQL names, and no other', () => {
  const found = foundTableUse();
  expect(Object.keys(found).length).toBeGreaterThan(10);
  expect(DECLARED_TABLE_USE).toEqual(found);
});

/**
 * What the sources were asked, and for which accounts there is something to
 * seal: read, never written.
 */
const UPWARD = [
  'platform/audit: account of access/accounts',
  'records: recorded_subject of messaging/notifications',
  'records: network_query of queries/network-query',
  'records: network_query_attempt of queries/network-query',
  'records: network_query_part of queries/network-query',
  'records: network_query_timeline of queries/network-query',
  'sources/connections: network_query_part of queries/network-query',
  'sources/health: network_query_attempt of queries/network-query',
];

test('a room names tables of higher districts only where this list says so', () => {
  expect(upwardUse(foundTableUse()).sort()).toEqual([...UPWARD].sort());
});
