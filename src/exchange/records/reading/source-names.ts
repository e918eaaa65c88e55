import type { RecordSource } from '../../../contract/primitives.ts';
import { lookupTable } from '../../../lib/lookup-table.ts';

const RECORD_SOURCE_NAMES: Readonly<Record<RecordSource, string>> = {
  hie: 'HIE',
  pharmacy: 'Pharmacy',
  lab: 'Laboratory',
  message: 'Message',
  contribution: 'Contributed data',
};

const SOURCES: Readonly<Record<string, string>> =
  lookupTable(RECORD_SOURCE_NAMES);

/** Where data of a record comes from, as readers know it: `Laboratory`. */
export const sourceName = (source: string): string => SOURCES[source] ?? source;
