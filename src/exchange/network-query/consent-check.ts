import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { deniedSources } from '../consents/consent-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import type { AttemptWork } from './attempt-store.ts';

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
  { patientId, accessEndsAt, isCollected }: AttemptWork,
): Promise<string | undefined> {
  if (isCollected) return undefined;
  const purpose = accessEndsAt === undefined ? 'treatment' : 'ias';
  const denied = await deniedSources(tx, patientId, purpose, [source]);
  if (!denied.has(source)) return undefined;
  return `${excludedByConsent(source)}; nothing more is collected for this query`;
}
