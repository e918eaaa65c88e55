import { sql } from 'kysely';
import type { SystemTx } from '../../platform/database/database.ts';
import { retryOvertaken } from '../../platform/database/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  itemRecovery,
  type Recovery,
} from '../../platform/recovery/recovery.ts';
import { type Applied, applySubject } from './apply.ts';
import { continueFollowUps } from './follow-up/follow-ups.ts';
import { lockSender, setOutcome } from './inbound-store.ts';
import { type IntakeDeps, intakeOutcome } from './intake.ts';
import { personOfStoredMessage } from './person-of-subject.ts';
import { startRecordings } from './recording/recordings.ts';

/*
 * Messages under a record that was another person's until then. They are kept
 * and do not count until somebody has decided.
 * (docs/decisions/0284-a-record-changes-hands.md)
 */

/** Held messages, newest first. For operators. */
export async function listHeld(tx: SystemTx, limit: number) {
  return tx.db
    .selectFrom('inbound_message')
    .select(['id', 'sender', 'kind', 'trigger', 'outcome'])
    .select('received_at as receivedAt')
    .where('outcome', '=', 'held')
    .orderBy('received_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/**
 * Decides on a held message. Returns false if there is no held message of that
 * id. What is accepted is applied by `reconcile`.
 */
export async function decideHeld(
  tx: SystemTx,
  messageId: string,
  outcome: 'accepted' | 'refused',
): Promise<boolean> {
  const decided = await tx.db
    .updateTable('inbound_message')
    .set({ outcome })
    .where('id', '=', messageId)
    .where('outcome', '=', 'held')
    .executeTakeFirst();
  return decided.numUpdatedRows > 0n;
}

interface AcceptedMessage {
  id: string;
  sender: string;
  since: Date;
}

/** Applies messages that somebody has accepted. */
export function acceptedMessages(
  deps: Pick<IntakeDeps, 'followUps' | 'recordings'> &
    Pick<Platform, 'store' | 'blobs' | 'idHmacKey'>,
): Recovery {
  const personOfMessage = personOfStoredMessage(deps.blobs);
  return itemRecovery({
    name: 'accepted messages to apply',
    find: (limit) => deps.store.asSystem((tx) => findAccepted(tx, limit)),
    async heal({ id, sender }: AcceptedMessage) {
      const applied = await retryOvertaken(() =>
        deps.store.asSystem(async (tx) => {
          await lockSender(tx, sender, 'alone');
          const all: Applied[] = [];
          for (const subjectId of await releaseEvents(tx, id))
            all.push(
              await applySubject(tx, subjectId, {
                personOfMessage,
                idHmacKey: deps.idHmacKey,
              }),
            );
          await setOutcome(tx, id, intakeOutcome(all));
          return all;
        }),
      );
      continueFollowUps(deps.followUps, applied);
      startRecordings(deps.recordings, applied);
      return true;
    },
  });
}

async function findAccepted(
  tx: SystemTx,
  limit: number,
): Promise<AcceptedMessage[]> {
  return tx.db
    .selectFrom('inbound_message')
    .select(['id', 'sender', 'received_at as since'])
    .where('outcome', '=', 'accepted')
    .orderBy('received_at')
    .limit(limit)
    .execute();
}

/**
 * Lets the held events of a message count. Returns their subjects, whose rows
 * are locked, in locking order.
 */
async function releaseEvents(
  tx: SystemTx,
  messageId: string,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from inbound_subject where id in
      (select subject_id from inbound_event where message_id = ${messageId} and is_held)
    order by id for update
  `.execute(tx.db);
  await tx.db
    .updateTable('inbound_event')
    .set({ is_held: false })
    .where('message_id', '=', messageId)
    .execute();
  return rows.map(({ id }) => id);
}
