import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import { openRecordReader } from '../../src/exchange/records/reading/record-reader.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import { recordTest } from '../support/fixtures.ts';

const CODES = { Observation: 1_100, Condition: 1_050, Procedure: 30 };

recordTest(
  'a large record that is read in two halves has each resource once, in the order of the record, however much of it is kept, and gives back its room if one half fails',
  async ({ environment }) => {
    const { store, accountId, records } = environment;
    const [sample] = samples;
    if (sample === undefined) throw new Error('there is no sample');
    const patientId = await environment.addPatient(personOf(sample));
    const deliveries = Object.entries(CODES).flatMap(([resourceType, count]) =>
      Array.from({ length: count }, (_, index) =>
        delivery('hie', {
          resourceType,
          id: `${resourceType}-${index}`,
          status: 'final',
          code: { text: `${resourceType} ${index}` },
          subject: { reference: 'Patient/them' },
        }),
      ),
    );
    await environment.deliver(patientId, 'hie', deliveries, ['them']);
    await records.merge(accountId, patientId);
    const read = async (left: number, types: readonly string[]) => {
      const kept = { left };
      const reader = await openRecordReader(
        store,
        { accountId, patientId, filter: {} },
        kept,
      );
      const places: string[] = [];
      for await (const { resourceType, id } of reader.read(types))
        places.push(`${resourceType}/${id}`);
      reader.close();
      expect(kept.left).toBe(left);
      return places;
    };
    const all = ['Procedure', 'Patient', 'Condition', 'Observation'];
    const inPages = await read(0, all);
    expect(new Set(inPages).size).toBe(inPages.length);
    expect(inPages).toHaveLength(
      1 + CODES.Observation + CODES.Condition + CODES.Procedure,
    );
    expect(await read(32_000_000, all)).toEqual(inPages);
    // Types that there was no room for come last.
    expect((await read(1, all)).toSorted()).toEqual(inPages.toSorted());
    for (const types of [['Observation'], ['Condition', 'Procedure']])
      for (const left of [32_000_000, 1])
        expect(await read(left, types)).toEqual(await read(0, types));

    const kept = { left: 32_000_000 };
    const begun: Promise<unknown>[] = [];
    const asAccount = ((account, work) => {
      const result =
        begun.length === 1
          ? Promise.reject(new Error('none'))
          : store.asAccount(account, work);
      begun.push(result);
      return result;
    }) as typeof store.asAccount;
    await expect(
      openRecordReader(
        { asAccount },
        { accountId, patientId, filter: {} },
        kept,
      ),
    ).rejects.toThrow();
    // The other half may still be read.
    for (let ended = 0; ended < begun.length; await setImmediate()) {
      ended = begun.length;
      await Promise.allSettled(begun);
      for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    }
    expect(begun.length).toBeGreaterThan(2);
    expect(kept.left).toBe(32_000_000);
  },
);
