import { describe, expect, test } from 'vitest';
import { send } from './requests.ts';
import type { World } from './world.ts';

/** The rest of the dialect: ../dialect.test.ts. */
export function describeSteeringInPublished(world: () => World): void {
  describe('in the dialect "published"', () => {
    test('steering a query returns the same states as reading it', async () => {
      const account = await world().addAccount({ dialect: 'published' });
      const headers = { 'x-api-key': account.apiKey };
      const { id } = (
        await account.call(
          'POST',
          `patient?facilityId=${account.facilityId}`,
          world().make.person(),
        )
      ).json();
      const sources = { hie: { enabled: true }, lab: { enabled: true } };
      const { requestId } = (
        await account.call('POST', `network/query?patientId=${id}`, { sources })
      ).json();
      const params = { requestId, type: 'hie' };
      const read = async () =>
        (await send(world(), 'getNetworkQuery', { params, headers })).json();
      const given = (
        await send(world(), 'giveUpSource', { params, headers })
      ).json();
      expect(given).toEqual(await read());
      expect(given).toMatchObject({
        status: 'processing',
        sources: [{ status: 'failed' }, { status: 'processing' }],
      });
      const again = (
        await send(world(), 'retrySource', { params, headers })
      ).json();
      expect(again).toEqual(await read());
      expect(again.sources).toMatchObject([
        { status: 'processing' },
        { status: 'processing' },
      ]);
      const cancelled = (
        await send(world(), 'cancelNetworkQuery', { params, headers })
      ).json();
      expect([cancelled, cancelled.status]).toEqual([await read(), 'failed']);
    });
  });
}
