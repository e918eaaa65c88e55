import type { NotificationType } from '../../contract/notifications.ts';
import { refusal } from '../network-query/prepare.ts';
import { readExternalId } from '../patients/patient-facts.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertEvent } from '../platform/outbox/event-store.ts';
import { isMonitored } from './candidate-store.ts';
import { endFollowUps, openFollowUp, readAskable } from './follow-up/follow-up-store.ts';
import { insertNotification, settleNotifications } from './notification-store.ts';
import type { Fact, SubjectState } from './subject-state.ts';

/** A discharge that became known later than that is not followed up: what there is, is there. */
const FOLLOW_UP_AGE_MAX_MS = 7 * 86_400_000;

export interface Telling {
  subjectId: string;
  sender: string;
  state: SubjectState;
  /** See `admittedAt` of subject-state.ts. */
  admittedAt?: string;
  /** Whose it is in this account; undefined: nobody's. */
  patientId?: string;
}

/** What is to be done once the transaction is committed. */
export interface Told {
  accountId: string;
  /** Whether the account wants to know: a cohort of the patient has the feature on. */
  isMonitored: boolean;
  /** Notification ids of follow-ups. */
  opened: string[];
  ended: string[];
}

/**
 * Brings what an account was told of a subject in line with what is true now. Each fact is told once, with its own time,
 * however late it comes and however often it is repeated; a corrected time is not told again, and what is true no more is
 * marked as withdrawn.
 */
export async function tellAccount(tx: AccountTx, telling: Telling): Promise<Told> {
  const { patientId, state, subjectId } = telling;
  const told: Told = { accountId: tx.accountId, isMonitored: false, opened: [], ended: [] };
  if (patientId !== undefined && (await isMonitored(tx, patientId, state.kind))) {
    told.isMonitored = true;
    for (const fact of state.facts) await tellFact(tx, { ...telling, patientId }, fact, told);
  }
  const withdrawn = await settleNotifications(tx, subjectId, { patientId, facts: state.facts });
  told.ended.push(...(await endFollowUps(tx, withdrawn, 'cancelled', 'The discharge was taken back')));
  return told;
}

async function tellFact(
  tx: AccountTx,
  telling: Telling & { patientId: string },
  fact: Fact,
  told: Told,
): Promise<void> {
  const { patientId, subjectId, sender } = telling;
  const type: NotificationType = `patient.${fact.type}`;
  const notificationId = await insertNotification(tx, {
    ...{ patientId, subjectId, type, sender },
    factKey: fact.key,
    occurredAt: fact.at,
    sentAt: fact.sentAt,
  });
  if (notificationId === undefined) return;
  const now = new Date();
  await insertEvent(tx, {
    type,
    factKey: `${type}/${notificationId}`,
    patientId,
    requestId: notificationId,
    occurredAt: now,
    body: {
      meta: { requestId: notificationId, when: now.toISOString(), type },
      payload: {
        patientId,
        externalId: await readExternalId(tx, patientId),
        whenSourceSent: fact.sentAt,
        ...payloadOf(telling, fact),
      },
    },
  });
  if (fact.type === 'discharge' && (await isWorthFollowing(tx, patientId, fact))) {
    told.ended.push(...(await openFollowUp(tx, { notificationId, patientId })));
    told.opened.push(notificationId);
  }
}

/** Senders tell the name of a place at most, not what kind of place it is. */
const UNKNOWN = 'unknown';

function payloadOf({ state, admittedAt }: Telling, fact: Fact): Record<string, unknown> {
  if (state.kind !== 'encounter')
    return state.kind === 'pharmacy'
      ? { medicationDispensedDate: state.at }
      : { specimenCollectedDate: state.at };
  // What was known at the time of the fact, so that a late transfer does not tell of later ones.
  const until = fact.type === 'admit' ? '' : (fact.at ?? '');
  const transfers = state.transfers.filter(({ at }) => at <= until);
  const place = (name = UNKNOWN) => ({ name, type: UNKNOWN });
  return {
    admitTimestamp: admittedAt,
    ...(fact.type === 'discharge' ? { dischargeTimestamp: fact.at } : {}),
    ...(transfers.length === 0
      ? {}
      : {
          transfers: transfers.map(({ at, from, to }) => ({
            timestamp: at,
            sourceLocation: place(from),
            destinationLocation: place(to),
          })),
        }),
  };
}

/** There is somebody to ask, the patient allows it, and the discharge is not long past. */
async function isWorthFollowing(tx: AccountTx, patientId: string, fact: Fact): Promise<boolean> {
  if (fact.at !== undefined && Date.now() - Date.parse(fact.at) > FOLLOW_UP_AGE_MAX_MS) return false;
  const subject = await readAskable(tx, patientId);
  return subject !== undefined && refusal('hie', subject) === undefined;
}
