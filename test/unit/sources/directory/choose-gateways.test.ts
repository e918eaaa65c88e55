import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  chooseGateways,
  type GatewayCandidate,
  NOTHING_SHOWN,
} from '../../../../src/exchange/sources/directory/rules/choose-gateways.ts';
import { property } from '../../../support/property.ts';

const rules = {
  ownHomeCommunity: '1.0',
  recordLocators: ['1.1'],
  onlyCommunities: [],
  neverCommunities: ['1.2'],
  withinMiles: 50,
  gatewaysMax: 500,
};

const candidate = (
  homeCommunity: string,
  of: Partial<GatewayCandidate> = {},
): GatewayCandidate => ({
  id: homeCommunity,
  name: `Gateway ${homeCommunity}`,
  homeCommunity,
  active: true,
  discoveryUrl: 'https://gateway.example/discovery',
  queryUrl: 'https://gateway.example/query',
  retrieveUrl: 'https://gateway.example/retrieve',
  miles: 10,
  isUnplacedInState: false,
  isBelowLocator: false,
  ...of,
});

const reasons = (candidates: GatewayCandidate[], shown = NOTHING_SHOWN) =>
  chooseGateways(candidates, rules, shown).chosen.map(
    ({ homeCommunity, because }) => `${homeCommunity} ${because}`,
  );

describe('the gateways that are asked', () => {
  test('are locators, known ones, near ones, and those of the state without a place, in this order', () => {
    const candidates = [
      candidate('1.7', { miles: null, isUnplacedInState: true }),
      candidate('1.6', { miles: 20 }),
      candidate('1.5', { miles: 2 }),
      candidate('1.4', { miles: 900 }),
      candidate('1.1', { miles: 2_000 }),
    ];
    const shown = { found: new Set(['1.4']), nobody: new Set(['1.1']) };
    expect(reasons(candidates, shown)).toEqual([
      '1.1 locator',
      '1.4 known',
      '1.5 near',
      '1.6 near',
      '1.7 state',
    ]);
  });

  test.each([
    ['inactive', { active: false }],
    ['incomplete', { queryUrl: null }],
    ['incomplete', { homeCommunity: null }],
    ['ourselves', { homeCommunity: '1.0' }],
    ['excluded', { homeCommunity: '1.2' }],
    ['below a record locator', { isBelowLocator: true }],
    ['known not to have the patient', { homeCommunity: '1.3' }],
    ['too far', { miles: 50.1 }],
    ['too far', { miles: null }],
  ])('are none of those that are %s: %j', (reason, of) => {
    const shown = { found: new Set<string>(), nobody: new Set(['1.3']) };
    const { chosen, leftOut } = chooseGateways(
      [candidate('1.9', of)],
      rules,
      shown,
    );
    expect(chosen).toEqual([]);
    expect(leftOut).toMatchObject({ [reason]: 1 });
  });

  test('are asked once, where several entries have one home community', () => {
    const twice = [
      candidate('1.5', { miles: 9 }),
      candidate('1.5', { id: 'x', miles: 3 }),
    ];
    expect(chooseGateways(twice, rules).chosen).toMatchObject([{ miles: 3 }]);
  });

  const miles = fc.option(fc.double({ min: 0, max: 100, noNaN: true }));
  const candidates = fc.array(
    fc
      .tuple(fc.nat(30), miles, fc.boolean())
      .map(([number, far, active]) =>
        candidate(`2.${number}`, { miles: far, active }),
      ),
  );
  property([candidates, fc.integer({ min: 1, max: 10 })])(
    'are the same in whatever order the directory has them, and each candidate is accounted for',
    (given, gatewaysMax) => {
      const limited = { ...rules, gatewaysMax };
      const one = chooseGateways(given, limited);
      const other = chooseGateways([...given].reverse(), limited);
      expect(other).toEqual(one);

      const wanted = given.filter(
        ({ active, miles: far }) => active && far !== null && far <= 50,
      );
      const communities = new Set(
        wanted.map(({ homeCommunity }) => homeCommunity),
      );
      expect(one.chosen.length + one.leftOut['over the maximum']).toBe(
        communities.size,
      );
      expect(one.leftOut.inactive).toBe(
        given.filter(({ active }) => !active).length,
      );
    },
  );
});
