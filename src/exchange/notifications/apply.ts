import { type SystemTx, withinAccount } from '../platform/database/database.ts';
import { accountsTold, findCandidates } from './candidate-store.ts';
import { readSubject, saveSubject } from './inbound-store.ts';
import { describesEnough, matchPatients, zipsOf } from './match.ts';
import { type PersonOfMessage, personOfSubject } from './person-of-subject.ts';
import { admittedAt, subjectState } from './subject-state.ts';
import type { InboundOutcome } from './tables.ts';
import { type Told, tellAccount } from './tell.ts';

export interface Applied {
  outcome: InboundOutcome;
  told: Told[];
}

/**
 * Makes a subject's state anew from all its messages, finds whose it is, and tells their accounts what they have not
 * been told. The subject's row is held by the caller's transaction. Doing it again changes nothing.
 */
export async function applySubject(
  tx: SystemTx,
  subjectId: string,
  personOfMessage: PersonOfMessage,
): Promise<Applied> {
  const subject = await readSubject(tx, subjectId);
  const state = subjectState(subject);
  const { person: described, recordKey } = await personOfSubject(tx, subject, personOfMessage);
  const person = described && describesEnough(described) ? described : undefined;
  await saveSubject(tx, subjectId, { state, recordKey });

  const candidates = await findCandidates(tx, {
    subjectId,
    birthDate: person?.birthDate,
    zips: person === undefined ? [] : zipsOf(person),
  });
  const { matches, isAmbiguous } = matchPatients(candidates, person);
  const patients = new Map(matches.map(({ accountId, patientId }) => [accountId, patientId]));
  const begin = state.kind === 'encounter' ? admittedAt(state, subject.events) : undefined;

  const told: Told[] = [];
  // In one order, so that two messages about the same people wait for each other instead of blocking each other.
  const accounts = new Set([...patients.keys(), ...(await accountsTold(tx, subjectId))]);
  for (const accountId of [...accounts].sort()) {
    const patientId = patients.get(accountId);
    told.push(
      await withinAccount(tx, accountId, (ofAccount) =>
        tellAccount(ofAccount, { subjectId, sender: subject.sender, state, admittedAt: begin, patientId }),
      ),
    );
  }
  return {
    outcome: outcomeOf(told, { matched: matches.length > 0, isAmbiguous, isDescribed: person !== undefined }),
    told,
  };
}

function outcomeOf(
  told: readonly Told[],
  found: { matched: boolean; isAmbiguous: boolean; isDescribed: boolean },
): InboundOutcome {
  if (told.some(({ isMonitored }) => isMonitored)) return 'matched';
  if (found.matched) return 'not-monitored';
  if (found.isAmbiguous) return 'ambiguous';
  return found.isDescribed ? 'unmatched' : 'incomplete';
}
