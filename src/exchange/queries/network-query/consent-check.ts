import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { deniedSources } from '../../people/consents/consent-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { SourceFailure } from '../../sources/connectors/connector.ts';
import { type AttemptWork, purposeOf } from './attempt-store.ts';

/** Why the patient's consents exclude a source, as callers see it. */
export const excludedByConsent = (source: SourceType): string =>
  source === 'hie'
    ? 'The patient has opted out of hie queries'
    : `A consent of the patient excludes the ${source} source`;

/**
 * Why an attempt that is under way must not go on: the patient has opted out, or a consent excludes the source, since the query
 * began. Undefined when it may go on, and when everything is collected already.
 */
export async function consentWithdrawn(
  tx: AccountTx,
  { source }: SourceStepInput,
  work: AttemptWork,
): Promise<string | undefined> {
  if (work.isCollected) return undefined;
  const denied = await deniedSources(tx, work.patientId, purposeOf(work), [source]);
  if (!denied.has(source)) return undefined;
  return `${excludedByConsent(source)}; nothing more is collected for this query`;
}

/**
 * Individual access is valid only as long as the session that the query was started with. Checked before each request to a
 * source, which may be days later. The result of a request that a source accepted in time is still collected.
 */
export function checkAccess({ accessEndsAt }: Pick<AttemptWork, 'accessEndsAt'>, now: Date): void {
  if (accessEndsAt === undefined || (accessEndsAt !== null && accessEndsAt > now)) return;
  throw new SourceFailure(
    'refused',
    'The AAL2 session of this query has expired; start a query with an active session',
  );
}
