import type { SourceType } from '../../contract/primitives.ts';
import type { AccountSettings } from '../accounts/tables.ts';
import { refusal } from '../network-query/prepare.ts';
import type { SweptPatient } from './page-store.ts';

/** Sources that the queries after a bulk create ask, unless the account has others (interface-decisions.md, Bulk CSV). */
const DEFAULT_SOURCES: readonly SourceType[] = ['hie'];

export interface PagePlan {
  starting: { patientId: string; sources: SourceType[] }[];
  /** Deleted, or opted out of all that would be asked. */
  skipped: string[];
  /** Sources that have no room left in this minute for the patient whose turn it is. */
  blockedBy: SourceType[];
}

export const sweptSources = (settings: AccountSettings): SourceType[] => [
  ...new Set(settings.bulk?.sources ?? DEFAULT_SOURCES),
];

/** Those of them that may be asked about such a patient. */
export const askedSources = (settings: AccountSettings, patient: { hieOptOut: boolean }): SourceType[] =>
  sweptSources(settings).filter(
    (source) => refusal(source, { account: { settings }, patient }) === undefined,
  );

/**
 * Decides about the next patients in their order: one is started with all its sources or not yet, and nobody
 * overtakes it. @param rooms queries of each source that may still be started in this minute
 */
export function planPage(
  patients: readonly SweptPatient[],
  settings: AccountSettings,
  rooms: ReadonlyMap<SourceType, number>,
  startsMax: number,
): PagePlan {
  const plan: PagePlan = { starting: [], skipped: [], blockedBy: [] };
  const left = new Map(rooms);
  for (const { patientId, patient } of patients) {
    const sources = patient === undefined ? [] : askedSources(settings, patient);
    if (sources.length === 0) {
      plan.skipped.push(patientId);
      continue;
    }
    if (plan.starting.length >= startsMax) break;
    plan.blockedBy = sources.filter((source) => (left.get(source) ?? 0) < 1);
    if (plan.blockedBy.length > 0) break;
    for (const source of sources) left.set(source, (left.get(source) ?? 0) - 1);
    plan.starting.push({ patientId, sources });
  }
  return plan;
}
