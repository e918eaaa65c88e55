import type { NotificationType } from '../../../contract/notifications.ts';
import { readExternalId } from '../../people/patients/patient-store.ts';
import {
  type AccountTx,
  type SystemTx,
  withinAccount,
} from '../../platform/database/database.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import { whyNotAsked } from '../../queries/network-query/prepare.ts';
import {
  findCandidates,
  isMonitored,
  notifiedAccounts,
  withShared,
} from './candidate-store.ts';
import {
  endFollowUps,
  openFollowUp,
  readQueryPermission,
} from './follow-up/follow-up-store.ts';
import {
  readSubject,
  type StoredInboundEvent,
  saveSubject,
} from './inbound-store.ts';
import {
  describesEnough,
  matchKeysOf,
  matchPatients,
  zipsOf,
} from './match.ts';
import {
  insertNotification,
  updateNotifications,
} from './notification-store.ts';
import { personKeysOf } from './person-keys.ts';
import { type PersonOfMessage, personOfSubject } from './person-of-subject.ts';
import { noteRecordings } from './recording/recording-store.ts';
import {
  admittedAt,
  type Fact,
  type SubjectState,
  subjectState,
} from './subject-state.ts';
import type { InboundOutcome } from './tables.ts';

export interface Applied {
  outcome: InboundOutcome;
  updates: AccountUpdate[];
}

/**
 * Recomputes a subject (an encounter, fill or result) from all its messages,
 * matches it to patients, and notifies their accounts of facts they have not
 * received. The caller's transaction holds the lock on the subject's row.
 * Repeating it changes nothing.
 */
export async function applySubject(
  tx: SystemTx,
  subjectId: string,
  {
    personOfMessage,
    idHmacKey,
  }: { personOfMessage: PersonOfMessage; idHmacKey: string },
): Promise<Applied> {
  const subject = await readSubject(tx, subjectId);
  const state = subjectState(subject);
  const { person: described, recordKey } = await personOfSubject(
    tx,
    subject,
    personOfMessage,
  );
  const person =
    described && describesEnough(described) ? described : undefined;
  const matchKeys = person === undefined ? [] : matchKeysOf(person, idHmacKey);
  const personKeys =
    described === undefined
      ? []
      : personKeysOf(described, subject.sender, idHmacKey);
  await saveSubject(tx, subjectId, { state, recordKey, matchKeys, personKeys });

  const candidates = await findCandidates(tx, {
    subjectId,
    birthDate: person?.birthDate,
    zips: person === undefined ? [] : zipsOf(person),
  });
  const { matches, isAmbiguous } = matchPatients(
    await withShared(tx, candidates, person),
    person,
  );
  const patients = new Map(
    matches.map(({ accountId, patientId }) => [accountId, patientId]),
  );
  const begin =
    state.kind === 'encounter' ? admittedAt(state, subject.events) : undefined;

  const updates: AccountUpdate[] = [];
  // Always in the same order, so that two messages about the same people never
  // deadlock.
  const accounts = new Set([
    ...patients.keys(),
    ...(await notifiedAccounts(tx, subjectId)),
  ]);
  for (const accountId of [...accounts].sort()) {
    const patientId = patients.get(accountId);
    updates.push(
      await withinAccount(tx, accountId, (ofAccount) =>
        notifyAccount(ofAccount, {
          subjectId,
          sender: subject.sender,
          state,
          isRecorded: saysSomething(state, subject.events),
          admittedAt: begin,
          patientId,
        }),
      ),
    );
  }
  return {
    outcome: appliedOutcome(updates, {
      matched: matches.length > 0,
      isAmbiguous,
      isDescribed: person !== undefined,
    }),
    updates,
  };
}

/**
 * Whether there is anything to record of a subject: of a stay, that it takes or
 * took place, or what a message reports besides, as the allergies of a
 * pre-admission.
 */
const saysSomething = (
  state: SubjectState,
  events: readonly StoredInboundEvent[],
): boolean =>
  state.kind !== 'encounter' ||
  state.status === 'in-progress' ||
  state.status === 'finished' ||
  events.some(({ content }) => content.reports === true);

function appliedOutcome(
  updates: readonly AccountUpdate[],
  match: { matched: boolean; isAmbiguous: boolean; isDescribed: boolean },
): InboundOutcome {
  if (updates.some(({ isMonitored }) => isMonitored)) return 'matched';
  if (match.matched) return 'not-monitored';
  if (match.isAmbiguous) return 'ambiguous';
  return match.isDescribed ? 'unmatched' : 'incomplete';
}

/**
 * A discharge reported later than this is not followed up: its documents should
 * be available by then.
 */
const FOLLOW_UP_AGE_MAX_MS = 7 * 86_400_000;

/** The present state of a subject, and its patient in one account. */
interface SubjectUpdate {
  subjectId: string;
  sender: string;
  state: SubjectState;
  /** Whether it belongs into records, also if nothing of it is announced. */
  isRecorded: boolean;
  /** See `admittedAt` of subject-state.ts. */
  admittedAt?: string;
  /**
   * The account's patient that the subject is about; undefined when there is
   * none.
   */
  patientId?: string;
}

/** The result for one account. */
interface AccountUpdate {
  accountId: string;
  /** Whether a cohort of the patient has notifications of this kind enabled. */
  isMonitored: boolean;
  /**
   * Notification ids of follow-ups whose workflow must be started after the
   * commit.
   */
  opened: string[];
  /**
   * Notification ids of follow-ups whose workflow must be woken after the
   * commit.
   */
  ended: string[];
  /** Patients whose record must be brought up to date after the commit. */
  toRecord: { patientId: string; subjectId: string }[];
}

/**
 * Brings an account's notifications about a subject in line with the subject's
 * present state. Each fact is announced once, with its own time, however late
 * or often it is reported. A corrected time is not announced again. A fact that
 * is no longer true is marked as withdrawn.
 * (docs/decisions/0026-each-fact-is-announced-once.md)
 */
async function notifyAccount(
  tx: AccountTx,
  subject: SubjectUpdate,
): Promise<AccountUpdate> {
  const { patientId, state, subjectId } = subject;
  const update: AccountUpdate = {
    accountId: tx.accountId,
    isMonitored: false,
    opened: [],
    ended: [],
    toRecord: [],
  };
  if (
    patientId !== undefined &&
    (await isMonitored(tx, patientId, state.kind))
  ) {
    update.isMonitored = true;
    for (const fact of state.facts)
      await notifyFact(tx, { ...subject, patientId }, fact, update);
  }
  const withdrawn = await updateNotifications(tx, subjectId, {
    patientId,
    facts: state.facts,
  });
  update.ended.push(
    ...(await endFollowUps(
      tx,
      withdrawn,
      'cancelled',
      'The sender withdrew the discharge',
    )),
  );
  const isRecorded = subject.isRecorded && update.isMonitored;
  update.toRecord.push(
    ...(await noteRecordings(tx, subjectId, { patientId, isRecorded })),
  );
  return update;
}

/**
 * Writes the notification and event of a fact that the account has not received
 * yet, and opens the follow-up of a discharge.
 */
async function notifyFact(
  tx: AccountTx,
  subject: SubjectUpdate & { patientId: string },
  fact: Fact,
  update: AccountUpdate,
): Promise<void> {
  const { patientId, subjectId, sender } = subject;
  const type: NotificationType = `patient.${fact.type}`;
  const notificationId = await insertNotification(tx, {
    patientId,
    subjectId,
    type,
    sender,
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
  if (
    fact.type === 'discharge' &&
    (await isWorthFollowing(tx, patientId, fact))
  ) {
    update.ended.push(
      ...(await openFollowUp(tx, { notificationId, patientId })),
    );
    update.opened.push(notificationId);
  }
}

/**
 * Placeholder for a location's type, and for a missing name: senders give at
 * most the name of a location.
 */
const UNKNOWN = 'unknown';

function payloadOf(
  { state, admittedAt }: SubjectUpdate,
  fact: Fact,
): Record<string, unknown> {
  if (state.kind !== 'encounter')
    return state.kind === 'pharmacy'
      ? { medicationDispensedDate: state.at }
      : { specimenCollectedDate: state.at };
  // Only transfers up to the time of the fact, so that a notification never
  // describes later ones.
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

/**
 * Whether to query hie again: the account may, the patient has not opted out,
 * and the discharge is recent.
 */
async function isWorthFollowing(
  tx: AccountTx,
  patientId: string,
  fact: Fact,
): Promise<boolean> {
  if (
    fact.at !== undefined &&
    Date.now() - Date.parse(fact.at) > FOLLOW_UP_AGE_MAX_MS
  )
    return false;
  const permission = await readQueryPermission(tx, patientId);
  return (
    permission !== undefined && whyNotAsked('hie', permission) === undefined
  );
}
