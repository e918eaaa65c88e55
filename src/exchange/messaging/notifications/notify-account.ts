import type { NotificationType } from '../../../contract/notifications.ts';
import { readExternalId } from '../../people/patients/patient-facts.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import { refusal } from '../../queries/network-query/prepare.ts';
import { isMonitored } from './candidate-store.ts';
import { endFollowUps, openFollowUp, readQueryPermission } from './follow-up/follow-up-store.ts';
import { insertNotification, updateNotifications } from './notification-store.ts';
import { noteRecordings } from './recording/recording-store.ts';
import type { Fact, SubjectState } from './subject-state.ts';

/** A discharge reported later than this is not followed up: its documents should be available by then. */
const FOLLOW_UP_AGE_MAX_MS = 7 * 86_400_000;

/** The present state of a subject, and its patient in one account. */
export interface SubjectUpdate {
  subjectId: string;
  sender: string;
  state: SubjectState;
  /** See `admittedAt` of subject-state.ts. */
  admittedAt?: string;
  /** The account's patient that the subject is about; undefined when there is none. */
  patientId?: string;
}

/** The result for one account. */
export interface AccountUpdate {
  accountId: string;
  /** Whether a cohort of the patient has notifications of this kind enabled. */
  isMonitored: boolean;
  /** Notification ids of follow-ups whose workflow must be started after the commit. */
  opened: string[];
  /** Notification ids of follow-ups whose workflow must be woken after the commit. */
  ended: string[];
  /** Patients whose record must be brought up to date after the commit. */
  toRecord: { patientId: string; subjectId: string }[];
}

/**
 * Brings an account's notifications about a subject in line with the subject's present state. Each fact is announced once,
 * with its own time, however late or often it is reported. A corrected time is not announced again. A fact that is no longer
 * true is marked as withdrawn. (docs/decisions/0026-each-fact-is-announced-once.md)
 */
export async function notifyAccount(tx: AccountTx, subject: SubjectUpdate): Promise<AccountUpdate> {
  const { patientId, state, subjectId } = subject;
  const update: AccountUpdate = {
    accountId: tx.accountId,
    isMonitored: false,
    opened: [],
    ended: [],
    toRecord: [],
  };
  if (patientId !== undefined && (await isMonitored(tx, patientId, state.kind))) {
    update.isMonitored = true;
    for (const fact of state.facts) await notifyFact(tx, { ...subject, patientId }, fact, update);
  }
  const withdrawn = await updateNotifications(tx, subjectId, { patientId, facts: state.facts });
  update.ended.push(...(await endFollowUps(tx, withdrawn, 'cancelled', 'The sender withdrew the discharge')));
  const isRecorded = state.kind === 'clinical' && update.isMonitored;
  update.toRecord.push(...(await noteRecordings(tx, subjectId, { patientId, isRecorded })));
  return update;
}

/** Writes the notification and event of a fact that the account has not received yet, and opens the follow-up of a discharge. */
async function notifyFact(
  tx: AccountTx,
  subject: SubjectUpdate & { patientId: string },
  fact: Fact,
  update: AccountUpdate,
): Promise<void> {
  const { patientId, subjectId, sender } = subject;
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
        ...payloadOf(subject, fact),
      },
    },
  });
  if (fact.type === 'discharge' && (await isWorthFollowing(tx, patientId, fact))) {
    update.ended.push(...(await openFollowUp(tx, { notificationId, patientId })));
    update.opened.push(notificationId);
  }
}

/** Placeholder for a location's type, and for a missing name: senders give at most the name of a location. */
const UNKNOWN = 'unknown';

function payloadOf({ state, admittedAt }: SubjectUpdate, fact: Fact): Record<string, unknown> {
  if (state.kind !== 'encounter')
    return state.kind === 'pharmacy'
      ? { medicationDispensedDate: state.at }
      : { specimenCollectedDate: state.at };
  // Only transfers up to the time of the fact, so that a notification never describes later ones.
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

/** Whether to query hie again: the account may, the patient has not opted out, and the discharge is recent. */
async function isWorthFollowing(tx: AccountTx, patientId: string, fact: Fact): Promise<boolean> {
  if (fact.at !== undefined && Date.now() - Date.parse(fact.at) > FOLLOW_UP_AGE_MAX_MS) return false;
  const permission = await readQueryPermission(tx, patientId);
  return permission !== undefined && refusal('hie', permission) === undefined;
}
