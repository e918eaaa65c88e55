/** A count with its noun: `1 entry`, `2,000 entries`. */
export const countText = (
  count: number,
  one: string,
  many = `${one}s`,
): string => `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
