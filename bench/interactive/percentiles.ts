export interface Percentiles {
  count: number;
  p50Ms: number;
  p95Ms: number;
}

export function percentiles(times: readonly number[]): Percentiles {
  const sorted = [...times].sort((left, right) => left - right);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ??
    Number.NaN;
  return { count: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95) };
}
