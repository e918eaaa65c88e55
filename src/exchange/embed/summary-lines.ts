import type { Store } from '../platform/database/database.ts';
import { openRecordReader } from '../records/summary/record-reader.ts';
import { summarise } from '../records/summary/summarise.ts';

/** Types that every record has, even without collected data. */
const NOT_COUNTED = new Set(['Patient', 'Provenance']);

/**
 * The parts of a record's summary as JSON lines, which the page renders itself. The first line is `{kind: 'total',
 * resources}`; with 0 resources no further lines follow.
 */
export async function* summaryLines(
  store: Pick<Store, 'asAccount'>,
  patient: { accountId: string; patientId: string },
): AsyncGenerator<string> {
  const reader = await openRecordReader(store, { ...patient, filter: {} });
  const resources = Object.entries(reader.counts)
    .filter(([type]) => !NOT_COUNTED.has(type))
    .reduce((sum, [, count]) => sum + count, 0);
  yield `${JSON.stringify({ kind: 'total', resources })}\n`;
  if (resources === 0) return;
  for await (const part of summarise(reader, { filter: {}, madeAt: new Date() }))
    yield `${JSON.stringify(part)}\n`;
}
