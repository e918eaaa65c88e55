import { terminalColumns } from '../config.ts';

/**
 * The width of an output in characters; undefined if it has none, such as a
 * file, or does not state it.
 */
export const widthOf = (
  { columns }: { columns?: number | undefined },
  env?: Readonly<Record<string, string | undefined>>,
): number | undefined => columns || terminalColumns(env);
