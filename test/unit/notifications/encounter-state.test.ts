import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { survivingRecord } from '../../../src/exchange/messaging/notifications/merge-store.ts';
import type { EncounterEvent } from '../../../src/exchange/messaging/notifications/rules/encounter-event.ts';
import { encounterState } from '../../../src/exchange/messaging/notifications/rules/encounter-state.ts';
import { property } from '../../support/property.ts';

let number = 0;
const at = (minute: number) =>
  new Date(Date.UTC(2026, 4, 1, 8, minute)).toISOString();
function event(
  trigger: EncounterEvent['trigger'],
  minute: number,
  rest: Partial<EncounterEvent> = {},
): EncounterEvent {
  number += 1;
  const messageKey = String(number).padStart(4, '0');
  return {
    trigger,
    recordedAt: at(minute),
    messageKey,
    arrival: messageKey,
    ...rest,
  };
}
const keys = (events: EncounterEvent[]) =>
  encounterState(events).facts.map(({ key }) => key);

const anyEvent = fc.record(
  {
    trigger: fc.constantFrom<EncounterEvent['trigger']>(
      ...([
        'admit',
        'transfer',
        'discharge',
        'update',
        'cancel-admit',
        'cancel-transfer',
      ] as const),
      ...(['cancel-discharge', 'snapshot', 'describe', 'register'] as const),
    ),
    recordedAt: fc.nat(6).map(at),
    messageKey: fc.string({ minLength: 3, maxLength: 6 }),
    occurredAt: fc.nat(6).map(at),
    admittedAt: fc.nat(6).map(at),
    dischargedAt: fc.nat(6).map(at),
    location: fc.constantFrom('A', 'B', 'C'),
    phase: fc.constantFrom(
      'open' as const,
      'ended' as const,
      'cancelled' as const,
    ),
  },
  { requiredKeys: ['trigger', 'recordedAt', 'messageKey'] },
);
/**
 * Messages of different ids, then the same ones in another order with some of
 * them doubled.
 */
const anyArrival = fc
  .uniqueArray(anyEvent, {
    maxLength: 12,
    selector: ({ messageKey }) => messageKey,
  })
  .map((events) =>
    events.map(
      (each): EncounterEvent => ({ ...each, arrival: each.messageKey }),
    ),
  )
  .filter(
    (events) =>
      new Set(events.map(({ trigger, recordedAt }) => trigger + recordedAt))
        .size === events.length,
  )
  .chain((events) =>
    fc.tuple(fc.constant(events), fc.subarray(events)).chain(([all, doubled]) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray([...all, ...doubled], {
          minLength: all.length + doubled.length,
          maxLength: all.length + doubled.length,
        }),
      ),
    ),
  );

describe('an encounter', () => {
  property([anyArrival])(
    'is the same in whatever order and however often its messages come',
    ([sent, arrived]) => {
      expect(encounterState(arrived)).toEqual(encounterState(sent));
    },
  );

  test('that is described and updated in one minute is as the later arrival says, in whatever order they are read', () => {
    const admitted = event('admit', 0);
    const described = event('describe', 6, { location: 'A' });
    const updated = event('update', 6, { location: 'C' });
    for (const events of [
      [admitted, described, updated],
      [updated, described, admitted],
    ])
      expect(encounterState(events).location).toBe('C');
  });

  property([anyArrival])('tells a fact of one key once', ([, arrived]) => {
    const told = keys(arrived);
    expect(new Set(told).size).toBe(told.length);
  });

  test('is the same in every order of its messages: A03, A01, A02 gives what A01, A02, A03 gives', async () => {
    const sequence = [
      event('admit', 1, {
        admittedAt: at(0),
        location: 'A',
        encounterClass: 'EMER',
      }),
      event('describe', 2, { admittedAt: at(0), encounterClass: 'IMP' }),
      event('transfer', 3, { location: 'B' }),
      event('transfer', 4, { location: 'C' }),
      event('cancel-transfer', 5, { location: 'B' }),
      event('discharge', 6, { disposition: '01' }),
      event('cancel-discharge', 7),
      event('discharge', 8, { disposition: '02' }),
    ];
    const inOrder = encounterState(sequence);
    const shuffled = fc.shuffledSubarray(sequence, {
      minLength: sequence.length,
    });
    await fc.assert(
      fc.property(shuffled, (arrived) => {
        expect(encounterState(arrived)).toEqual(inOrder);
      }),
      { numRuns: 1000 },
    );
  });

  test('goes from admission over transfers to discharge, each with its own time', () => {
    const state = encounterState([
      event('discharge', 9, { dischargedAt: at(8) }),
      event('admit', 1, { admittedAt: at(0), location: 'Ward 1' }),
      event('transfer', 5, { location: 'Ward 2' }),
    ]);
    expect(state).toMatchObject({
      status: 'finished',
      admittedAt: at(0),
      dischargedAt: at(8),
      location: 'Ward 2',
    });
    expect(state.transfers).toEqual([
      { at: at(5), from: 'Ward 1', to: 'Ward 2' },
    ]);
    expect(state.facts.map((fact) => [fact.key, fact.at])).toEqual([
      ['admit/0', at(0)],
      [`transfer/${at(5)}`, at(5)],
      ['discharge/0', at(8)],
    ]);
  });

  test('takes corrections without telling anything anew', () => {
    const admitted = event('admit', 1, { admittedAt: at(0) });
    const corrected = encounterState([
      admitted,
      event('update', 3, { admittedAt: at(2), encounterClass: 'IMP' }),
    ]);
    expect(corrected).toMatchObject({
      admittedAt: at(2),
      encounterClass: 'IMP',
    });
    expect(corrected.facts).toMatchObject([{ key: 'admit/0', at: at(2) }]);
    expect(keys([admitted, event('admit', 4)])).toEqual(['admit/0']);
  });

  test('whose admission is taken back has happened no more, until it happens again', () => {
    const events = [
      event('admit', 1),
      event('transfer', 2),
      event('cancel-admit', 3),
    ];
    expect(encounterState(events)).toMatchObject({
      status: 'cancelled',
      facts: [],
    });
    expect(keys([...events, event('admit', 4)])).toEqual(['admit/1']);
  });

  test('whose discharge is taken back goes on, and a later discharge is another one', () => {
    const events = [
      event('admit', 1),
      event('discharge', 2),
      event('cancel-discharge', 3),
    ];
    expect(encounterState(events)).toMatchObject({
      status: 'in-progress',
      dischargedAt: undefined,
    });
    expect(keys([...events, event('discharge', 4)])).toEqual([
      'admit/0',
      'discharge/1',
    ]);
  });

  test('knows a discharge that was taken back before it came', () => {
    const later = [event('cancel-discharge', 3), event('discharge', 4)];
    expect(keys(later)).toEqual(['discharge/1']);
    expect(keys([...later, event('discharge', 2)])).toEqual(['discharge/1']);
  });

  test('takes back the last transfer only, and once for one message sent twice', () => {
    const events = [
      event('transfer', 1),
      event('transfer', 2),
      event('cancel-transfer', 3),
      event('cancel-transfer', 3),
    ];
    expect(keys(events)).toEqual([`transfer/${at(1)}`]);
  });

  const moved = (minute: number, rest: Partial<EncounterEvent> = {}) =>
    event('transfer', minute, rest);

  test('keeps two transfers of the same minute that follow each other, and takes one that is sent again once', () => {
    const events = [
      event('admit', 1, { location: 'A' }),
      moved(5, { location: 'B' }),
      moved(5, { location: 'C' }),
      moved(5, { location: 'C' }),
    ];
    expect(encounterState(events).transfers).toEqual([
      { at: at(5), from: 'A', to: 'B' },
      { at: at(5), from: 'B', to: 'C' },
    ]);
    expect(new Set(keys(events)).size).toBe(3);
    const corrected = [
      moved(5, { priorLocation: 'A', location: 'B' }),
      moved(5, { priorLocation: 'A', location: 'C' }),
    ];
    expect(encounterState(corrected).transfers).toEqual([
      { at: at(5), from: 'A', to: 'C' },
    ]);
  });

  test('that is first heard of by an update is known from then on, unless it only is to begin', () => {
    const described = event('describe', 5, {
      admittedAt: at(1),
      encounterClass: 'IMP',
      location: 'A',
    });
    expect(encounterState([described])).toMatchObject({
      status: 'in-progress',
      admittedAt: at(1),
    });
    expect(keys([described, event('admit', 6)])).toEqual(['admit/0']);
    expect(
      encounterState([{ ...described, dischargedAt: at(3) }]),
    ).toMatchObject({
      status: 'finished',
      dischargedAt: at(3),
    });
    expect(encounterState([{ ...described, dischargedAt: at(9) }]).status).toBe(
      'in-progress',
    );
    for (const unknown of [
      { admittedAt: undefined },
      { admittedAt: at(6) },
      { encounterClass: 'PRENC' },
    ])
      expect(encounterState([{ ...described, ...unknown }])).toMatchObject({
        status: 'unknown',
        facts: [],
      });
    expect(encounterState([event('cancel-admit', 4), described]).status).toBe(
      'cancelled',
    );
  });

  test('may be told as a whole, again and again', () => {
    const snapshot = (minute: number, phase: 'open' | 'ended' | 'cancelled') =>
      event('snapshot', minute, {
        phase,
        admittedAt: at(0),
        transfers: [{ at: at(2), to: 'B' }],
      });
    expect(keys([snapshot(1, 'open'), snapshot(3, 'open')])).toEqual([
      'admit/0',
      `transfer/${at(2)}`,
    ]);
    expect(
      keys([snapshot(1, 'ended'), snapshot(3, 'open'), snapshot(5, 'ended')]),
    ).toContain('discharge/1');
    const elsewhere = event('snapshot', 4, {
      phase: 'open',
      transfers: [{ at: at(3), to: 'C' }],
    });
    expect(keys([snapshot(1, 'open'), elsewhere])).toEqual([
      'admit/0',
      `transfer/${at(3)}`,
    ]);
    expect(
      encounterState([snapshot(1, 'open'), snapshot(3, 'cancelled')]).facts,
    ).toEqual([]);
  });
});

describe('merged records', () => {
  const merge = (prior: string, surviving: string, minute: number) => ({
    prior,
    surviving,
    recordedAt: at(minute),
    arrival: String(minute),
  });
  // No two messages have one id.
  const anyMerges = fc.uniqueArray(
    fc.record({
      prior: fc.constantFrom('a', 'b', 'c', 'd'),
      surviving: fc.constantFrom('a', 'b', 'c', 'd'),
      recordedAt: fc.nat(5).map(at),
      arrival: fc.string({ minLength: 3, maxLength: 6 }),
    }),
    { maxLength: 8, selector: ({ arrival }) => arrival },
  );

  test('lead over several steps to the one that stays', () => {
    const merges = [merge('b', 'c', 1), merge('a', 'b', 2)];
    expect(survivingRecord('a', merges)).toMatchObject({ surviving: 'c' });
    expect(survivingRecord('c', merges)).toBeUndefined();
  });

  test('that were merged back stand where they stood', () => {
    const merges = [merge('a', 'b', 1), merge('b', 'a', 2)];
    expect(survivingRecord('a', merges)?.surviving).toBe('a');
    expect(survivingRecord('b', merges)?.surviving).toBe('a');
  });

  property([
    anyMerges.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray(all, { minLength: all.length }),
      ),
    ),
  ])(
    'end at the same one in whatever order the merges come',
    ([sent, arrived]) => {
      for (const record of ['a', 'b', 'c', 'd'])
        expect(survivingRecord(record, arrived)?.surviving).toBe(
          survivingRecord(record, sent)?.surviving,
        );
    },
  );
});
