import { type SystemTx, withinAccount } from '../../platform/database/database.ts';
import { findCandidates, notifiedAccounts } from './candidate-store.ts';
import { readSubject, saveSubject } from './inbound-store.ts';
import { describesEnough, matchPatients, zipsOf } from './match.ts';
import { matchKeysOf } from './match-keys.ts';
import { type AccountUpdate, notifyAccount } from './notify-account.ts';
import { type PersonOfMessage, personOfSubject } from './person-of-subject.ts';
import { admittedAt, subjectState } from './subject-state.ts';
import type { InboundOutcome } from './tables.ts';

export interface Applied {
  outcome: InboundOutcome;
  updates: AccountUpdate[];
}

/**
 * Recomputes a subject (an encounter, fill or result) from all its messages, matches it to patients, and notifies their
 * accounts of facts they have not received. The caller's transaction holds the lock on the subject's row. Repeating it changes
 * nothing.
 */
export async function applySubject(
  tx: SystemTx,
  subjectId: string,
  { personOfMessage, idHmacKey }: { personOfMessage: PersonOfMessage; idHmacKey: string },
): Promise<Applied> {
  const subject = await readSubject(tx, subjectId);
  const state = subjectState(subject);
  const { person: described, recordKey } = await personOfSubject(tx, subject, personOfMessage);
  const person = described && describesEnough(described) ? described : undefined;
  const matchKeys = person === undefined ? [] : matchKeysOf(person, idHmacKey);
  await saveSubject(tx, subjectId, { state, recordKey, matchKeys });

  const candidates = await findCandidates(tx, {
    subjectId,
    birthDate: person?.birthDate,
    zips: person === undefined ? [] : zipsOf(person),
  });
  const { matches, isAmbiguous } = matchPatients(candidates, person);
  const patients = new Map(matches.map(({ accountId, patientId }) => [accountId, patientId]));
  const begin = state.kind === 'encounter' ? admittedAt(state, subject.events) : undefined;

  const updates: AccountUpdate[] = [];
  // Always in the same order, so that two messages about the same people never deadlock.
  const accounts = new Set([...patients.keys(), ...(await notifiedAccounts(tx, subjectId))]);
  for (const accountId of [...accounts].sort()) {
    const patientId = patients.get(accountId);
    updates.push(
      await withinAccount(tx, accountId, (ofAccount) =>
        notifyAccount(ofAccount, { subjectId, sender: subject.sender, state, admittedAt: begin, patientId }),
      ),
    );
  }
  return {
    outcome: outcomeOf(updates, {
      matched: matches.length > 0,
      isAmbiguous,
      isDescribed: person !== undefined,
    }),
    updates,
  };
}

function outcomeOf(
  updates: readonly AccountUpdate[],
  match: { matched: boolean; isAmbiguous: boolean; isDescribed: boolean },
): InboundOutcome {
  if (updates.some(({ isMonitored }) => isMonitored)) return 'matched';
  if (match.matched) return 'not-monitored';
  if (match.isAmbiguous) return 'ambiguous';
  return match.isDescribed ? 'unmatched' : 'incomplete';
}
