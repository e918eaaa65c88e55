import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import { CONVERSION_RULES } from '../../../src/exchange/records/conversion/ccda-converter.ts';
import { MERGE_RULES } from '../../../src/exchange/records/merge/merge-batch.ts';
import { deliveryFacts } from '../../../src/exchange/records/rules/delivery-facts.ts';
import { groupByKeys } from '../../../src/exchange/records/rules/grouping.ts';
import { loadCcda } from '../../../tools/simulator/samples.ts';
import {
  deliveriesOf,
  delivery,
  patientIdsOf,
  personOf,
  samples,
} from '../../support/deliveries.ts';

/**
 * Databases hold what these functions returned. If a change gives other
 * results, raise the number of the rules, so that every record is merged (or
 * every document converted) again, and put the new hash here.
 */
const CONVERTED_BY_RULES: Readonly<Record<number, string>> = {
  11: '14ab246302996d5813d70d4ec8816a5e',
};
const MERGED_BY_RULES: Readonly<Record<number, string>> = {
  13: '793f6e2ef236fc64977300b786a44d76',
};

const digest = (results: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(results))
    .digest('hex')
    .slice(0, 32);

const converted = samples.map((sample) =>
  convertDatedCcda(loadCcda(sample), {
    unit: '0123456789abcdef',
    patientId: 'header',
  }),
);

test('the same documents are converted to the same resources, as long as the rules have the same number', () => {
  expect(digest(converted)).toBe(CONVERTED_BY_RULES[CONVERSION_RULES]);
});

test('the same deliveries have the same keys, assertions, dates and groups, as long as the rules have the same number', () => {
  const results = samples.map((sample, index) => {
    const document = converted[index];
    const ofDocument = document?.kind === 'converted' ? document.resources : [];
    const deliveries = [
      ...deliveriesOf(sample),
      ...ofDocument.map((resource) => ({
        ...delivery('hie', resource),
        isConverted: true,
      })),
    ];
    const ids = patientIdsOf(sample);
    const facts = deliveries.map((each) =>
      deliveryFacts(each, { patientIds: ids.get(each.source) }),
    );
    return { facts, groups: groupByKeys(personOf(sample).patientId, facts) };
  });
  expect(digest(results)).toBe(MERGED_BY_RULES[MERGE_RULES]);
});
