import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { notificationEndpoints } from '../../../../src/contract/notifications.ts';
import {
  badPages,
  badQuery,
  type OperationCases,
  type Sent,
} from '../operation-cases.ts';
import type { World } from '../world.ts';

/** A discharge that was told, and with `followUp` is followed up. */
export async function notification(
  world: World,
  followUp?: 'open' | 'new-data',
  of?: string,
): Promise<Sent> {
  const patient_id =
    of ?? (await world.make.patient({ externalId: 'chart-9' }));
  const id = uuidv7();
  const subject_id = uuidv7();
  const now = new Date();
  await world.inSystem(({ db }) =>
    db
      .insertInto('inbound_subject')
      .values({
        id: subject_id,
        sender: 'mercy',
        kind: 'encounter',
        source_key: randomBytes(8),
      })
      .execute(),
  );
  await world.inAccount(async ({ db, accountId: account_id }) => {
    await db
      .insertInto('notification')
      .values({
        id,
        account_id,
        patient_id,
        subject_id,
        type: 'patient.discharge',
        fact_key: id,
        sender: 'mercy',
        occurred_at: now,
        sent_at: now,
      })
      .execute();
    if (followUp === undefined) return;
    const ended_at = followUp === 'open' ? null : now;
    await db
      .insertInto('discharge_follow_up')
      .values({
        notification_id: id,
        account_id,
        patient_id,
        state: followUp,
        ended_at,
      })
      .execute();
  });
  return { params: { id } };
}

export const notificationCases: Record<
  keyof typeof notificationEndpoints,
  OperationCases
> = {
  listNotifications: {
    good: async (world) => {
      await notification(world, 'open');
      return {
        query: {
          type: 'patient.discharge',
          status: 'current',
          sort: 'notifiedAt=asc',
        },
      };
    },
    refused: [
      ...badPages(),
      badQuery({ patientId: 'x' }, 'patientId', 'expected a UUID'),
      badQuery({ type: 'patient.birth' }, 'type', 'expected one of'),
      badQuery({ status: 'old' }, 'status', 'expected one of'),
    ],
  },
  getNotification: { good: (world) => notification(world, 'open') },
  cancelFollowUp: {
    good: (world) => notification(world, 'open'),
    refused: [
      {
        what: 'a follow-up that has ended',
        status: 409,
        send: (world) => notification(world, 'new-data'),
        message: 'The follow-up has ended',
      },
      {
        what: 'a notification without a follow-up',
        status: 404,
        send: (world) => notification(world),
        message: 'Follow-up of this notification not found',
      },
    ],
  },
};
