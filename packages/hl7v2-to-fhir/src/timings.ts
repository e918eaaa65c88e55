import type { Dosage } from 'fhir/r4.js';
import type { Hl7Segment } from './message.ts';
import { hl7Decimal } from './written-decimals.ts';

type Group = readonly Hl7Segment[];

/**
 * The dosages of a medication with several timings (TQ1), as of a taper: one for
 * each, in their order, with its own amount (TQ1-2) where any has one. The
 * directions of the whole stand in the first. Undefined if there is one timing.
 *
 * @param dosageOf reads the dosage of a group that has only one timing
 */
export function taperedDosages(
  group: Group,
  dosageOf: (group: Group) => Dosage | undefined,
): Dosage[] | undefined {
  const timings = group.filter(({ name }) => name === 'TQ1');
  if (timings.length < 2) return undefined;
  const haveAmounts = timings.some((timing) => amountOf(timing) !== undefined);
  return timings.map((timing, nth) => {
    const own = group.filter(
      (segment) => segment === timing || segment.name !== 'TQ1',
    );
    const { text, doseAndRate, ...others } = dosageOf(own) ?? {};
    const said = nth === 0 ? text : timing.texts(11).join('\n').trim();
    const amount = amountOf(timing);
    const amounts = haveAmounts
      ? amount && [{ doseQuantity: amount }]
      : doseAndRate;
    return {
      sequence: nth + 1,
      ...(said ? { text: said } : {}),
      ...others,
      ...(amounts === undefined ? {} : { doseAndRate: amounts }),
    };
  });
}

/** TQ1-2 (CQ): a number, and its unit as subcomponents of the second part. */
function amountOf(timing: Hl7Segment): object | undefined {
  const number = timing.value(2);
  if (number === undefined || !/^(?:\d+\.?\d*|\.\d+)$/.test(number))
    return undefined;
  const unit = timing.value(2, 2, 2) ?? timing.value(2, 2);
  return {
    ...hl7Decimal('value', number),
    ...(unit === undefined ? {} : { unit }),
  };
}
