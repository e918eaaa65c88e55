import fc from 'fast-check';
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { RecordSource } from '../../src/contract/primitives.ts';
import type { RecordOrigins } from '../../src/contract/record-origins.ts';
import type { AccountTx } from '../../src/exchange/platform/database/database.ts';
import { resourceOrigins } from '../../src/exchange/records/merge/resource-origins.ts';
import {
  joinDelivery,
  splitDelivery,
} from '../../src/exchange/records/merge/splits.ts';
import {
  deliveriesOf,
  patientIdsOf,
  personOf,
  samples,
} from '../support/deliveries.ts';
import { recordTest } from '../support/fixtures.ts';
import { propertyOf } from '../support/property.ts';

const test = recordTest.extend(
  'record',
  { scope: 'file' },
  ({ environment }) => {
    const inTx = <T>(work: (tx: AccountTx) => Promise<T>): Promise<T> =>
      environment.store.asAccount(environment.accountId, work);
    const merge = (patientId: string) =>
      environment.records.merge(environment.accountId, patientId);
    const originsOf = (patientId: string, id: string): Promise<RecordOrigins> =>
      inTx((tx) => resourceOrigins(tx, patientId, id));
    async function deliverAll(patientId: string): Promise<void> {
      for (const source of ['hie', 'lab', 'pharmacy'] as const) {
        const own = whole.filter((each) => each.source === source);
        if (own.length > 0)
          await environment.deliver(
            patientId,
            source,
            own,
            ids.get(source) ?? [],
          );
      }
    }
    async function newRecord(): Promise<string> {
      const patientId = await environment.addPatient(
        personOf(sample as (typeof samples)[number]),
      );
      await deliverAll(patientId);
      await merge(patientId);
      return patientId;
    }
    const united = async (patientId: string) =>
      (await environment.read(patientId)).filter(
        ({ resourceType, origins }) =>
          resourceType !== 'Patient' && origins.length > 1,
      );
    return {
      ...environment,
      inTx,
      merge,
      originsOf,
      deliverAll,
      newRecord,
      united,
    };
  },
);

const [sample] = samples.filter(({ key }) => key === 'keith-kiehn');
if (sample === undefined) throw new Error('the sample is gone');
const ids = patientIdsOf(sample);
const whole = deliveriesOf(sample);

const splits = propertyOf(
  [
    fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 4 }),
    fc.boolean(),
  ],
  {
    numRuns: 6,
  },
);
test(
  splits.named(
    'a split delivery stays a resource of its own until it is joined; then all is as before',
  ),
  async ({ record }) =>
    splits.holds(async (picks, turned) => {
      const patientId = await record.newRecord();
      const before = await record.text(patientId);
      const count = (await record.read(patientId)).length;
      const split: string[] = [];
      for (const [which, part] of picks) {
        const resources = await record.united(patientId);
        const resource = resources[which % resources.length];
        if (resource === undefined) break;
        const { origins } = await record.originsOf(patientId, resource.id);
        const chosen = origins[part % origins.length];
        if (chosen === undefined) throw new Error('a resource without origins');
        const own = await record.inTx((tx) =>
          splitDelivery(tx, patientId, resource.id, chosen),
        );
        expect(own.origins).toMatchObject([
          {
            source: chosen.source,
            sourceId: chosen.sourceId,
            leads: true,
            split: true,
            unitedBy: [],
          },
        ]);
        split.push(own.id);
      }
      const after = await record.text(patientId);
      const resources = await record.read(patientId);
      expect(resources).toHaveLength(count + split.length);
      expect(resources.flatMap(({ origins }) => origins)).toHaveLength(
        whole.length,
      );

      // Collected again, and merged again by new rules.
      await record.deliverAll(patientId);
      await record.inTx((tx) =>
        sql`update record_origin set rules = 0 where patient_id = ${patientId}`.execute(
          tx.db,
        ),
      );
      await record.merge(patientId);
      expect(await record.text(patientId)).toBe(after);

      for (const own of turned ? split.reverse() : split)
        await record.inTx((tx) => joinDelivery(tx, patientId, own));
      expect(await record.text(patientId)).toBe(before);
      expect(await record.merge(patientId)).toEqual({ changed: 0 });
    }),
);

test('what cannot be split or joined is refused, and nothing changes', async ({
  record,
}) => {
  const patientId = await record.newRecord();
  const before = await record.text(patientId);
  const all = await record.read(patientId);
  const [resource] = await record.united(patientId);
  const alone = all.find(
    ({ resourceType, origins }) =>
      resourceType !== 'Patient' && origins.length === 1,
  );
  const { origins } = await record.originsOf(patientId, alone?.id ?? '');
  const [only] = origins;
  const [ofPatient] = (await record.originsOf(patientId, patientId)).origins;
  if (only === undefined || ofPatient === undefined)
    throw new Error('nothing to try with');
  const split = (
    id: string,
    delivery: { source: RecordSource; sourceId: string },
  ) => record.inTx((tx) => splitDelivery(tx, patientId, id, delivery));
  await expect(split(alone?.id ?? '', only)).rejects.toMatchObject({
    status: 409,
  });
  await expect(split(patientId, ofPatient)).rejects.toMatchObject({
    status: 409,
  });
  await expect(
    split(resource?.id ?? '', { source: 'hie', sourceId: 'other' }),
  ).rejects.toMatchObject({
    status: 400,
  });
  await expect(
    split('0190a1b2-0000-7000-8000-000000000099', only),
  ).rejects.toMatchObject({ status: 404 });
  await expect(
    record.inTx((tx) => joinDelivery(tx, patientId, resource?.id ?? '')),
  ).rejects.toMatchObject({
    status: 409,
  });
  expect(await record.text(patientId)).toBe(before);
});
