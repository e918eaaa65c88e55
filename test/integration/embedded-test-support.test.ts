import pg from 'pg';
import { describe, expect, inject, test } from 'vitest';
import { openConnection } from '../../src/temporal/connection.ts';
import { createTestDatabase } from '../support/postgres.ts';

describe('servers of a test run', () => {
  test('gives every test file a migrated database of its own', async () => {
    const [one, two] = await Promise.all([
      createTestDatabase(),
      createTestDatabase(),
    ]);
    const client = new pg.Client({ connectionString: one.databaseUrl });
    await client.connect();
    const { rows } = await client.query(
      'SELECT count(*)::int AS accounts FROM account',
    );
    await client.end();
    expect(rows).toEqual([{ accounts: 0 }]);
    expect(one.databaseUrl).not.toBe(two.databaseUrl);
    await Promise.all([one.drop(), two.drop()]);
  });

  test('has a Temporal server that knows our search attributes', async () => {
    const connection = await openConnection({
      address: inject('temporalAddress'),
    });
    const { customAttributes } =
      await connection.operatorService.listSearchAttributes({
        namespace: 'default',
      });
    await connection.close();
    expect(Object.keys(customAttributes ?? {})).toEqual(
      expect.arrayContaining(['AccountId', 'Sources']),
    );
  });
});
