import type { SourceType } from '../../../contract/primitives.ts';
import type { AccountSettings } from '../../platform/account.ts';
import { refusal } from '../network-query/prepare.ts';
import type { SweptPatient } from './page-store.ts';

/** Sources of post-import queries, unless the account's settings name others (docs/interface.md, "Bulk CSV"). */
const DEFAULT_SOURCES: readonly SourceType[] = ['hie'];

export interface PagePlan {
  starting: { patientId: string; sources: SourceType[] }[];
  /** Patients who were deleted, or for whom no source may be asked. */
  skipped: string[];
  /** Sources whose background limit of this minute is used up, so that the next patient must wait. */
  blockedBy: SourceType[];
}

export const sweptSources = (settings: AccountSettings): SourceType[] => [
  ...new Set(settings.bulk?.sources ?? DEFAULT_SOURCES),
];

/** The sources that may be asked about such a patient. */
export const askedSources = (settings: AccountSettings, patient: { hieOptOut: boolean }): SourceType[] =>
  sweptSources(settings).filter(
    (source) => refusal(source, { account: { settings }, patient }) === undefined,
  );

/**
 * Decides which of the next patients are started, in their order. A patient is started with all of its sources or waits;
 * no later patient is started first.
 *
 * @param rooms for each source, how many queries may still start in this minute
 * @param startsMax how many patients may be started at most
 */
export function planPage(
  patients: readonly SweptPatient[],
  settings: AccountSettings,
  rooms: ReadonlyMap<SourceType, number>,
  startsMax: number,
): PagePlan {
  const plan: PagePlan = { starting: [], skipped: [], blockedBy: [] };
  const remaining = new Map(rooms);
  for (const { patientId, patient } of patients) {
    const sources = patient === undefined ? [] : askedSources(settings, patient);
    if (sources.length === 0) {
      plan.skipped.push(patientId);
      continue;
    }
    if (plan.starting.length >= startsMax) break;
    plan.blockedBy = sources.filter((source) => (remaining.get(source) ?? 0) < 1);
    if (plan.blockedBy.length > 0) break;
    for (const source of sources) remaining.set(source, (remaining.get(source) ?? 0) - 1);
    plan.starting.push({ patientId, sources });
  }
  return plan;
}
