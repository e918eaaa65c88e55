/**
 * Round numbers, evenly spaced, from at or below `low` to at or above `high`: the labels of an axis.
 *
 * @param intervals about how many intervals
 */
export function ticks(low: number, high: number, intervals = 3): number[] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  // Values that differ by less than an axis can show are one value, in the middle of its axis.
  const isFlat = high - low <= size * ROUNDING || size < SMALLEST;
  const span = isFlat ? (size < SMALLEST ? 1 : size / 5) : high - low;
  const [from, to] = isFlat ? [low - span / 2, high + span / 2] : [low, high];
  const rough = span / intervals;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.floor(from / step + ROUNDING);
  const last = Math.ceil(to / step - ROUNDING);
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** So that 0.3 / 0.1 counts as 3. */
const ROUNDING = 1e-9;
const SMALLEST = 1e-12;
