import table from './filled-elements.json' with { type: 'json' };

/** Elements taken from other deliveries of a group if the leading one lacks them. Never status, values or times. */
export const FILLED: Readonly<Record<string, readonly string[]>> = table;
