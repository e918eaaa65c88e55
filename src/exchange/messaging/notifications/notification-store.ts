import { v7 as uuidv7 } from 'uuid';
import { NOTIFICATION_SORT } from '../../../contract/notifications.ts';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type CountedPage,
  newestFirst,
  type PageRequest,
  readCountedPage,
} from '../../platform/database/page.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';

const UPDATE_NOTIFICATIONS = sqlFile(
  'update-notifications.sql',
  import.meta.url,
);

export interface NewNotification
  extends Pick<
    Members<'notification'>,
    'patientId' | 'subjectId' | 'type' | 'factKey' | 'sender'
  > {
  occurredAt?: string;
  sentAt?: string;
}

/**
 * Inserts a notification and returns its id; undefined when the account already
 * has this fact for this patient.
 */
export async function insertNotification(
  tx: AccountTx,
  notification: NewNotification,
): Promise<string | undefined> {
  const row = await tx.db
    .insertInto('notification')
    .values(
      columnsOf({
        ...notification,
        id: uuidv7(),
        accountId: tx.accountId,
        occurredAt:
          notification.occurredAt === undefined
            ? null
            : new Date(notification.occurredAt),
        sentAt:
          notification.sentAt === undefined
            ? null
            : new Date(notification.sentAt),
      }),
    )
    .onConflict((conflict) =>
      conflict.columns(['patient_id', 'subject_id', 'fact_key']).doNothing(),
    )
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

/**
 * Brings the account's notifications of a subject up to date: those of this
 * patient with one of these facts are current, and get the fact's present time;
 * all others are marked as withdrawn. Without a patient all are withdrawn.
 * Returns the ids of the withdrawn ones.
 */
export async function updateNotifications(
  tx: AccountTx,
  subjectId: string,
  holding: {
    patientId?: string;
    facts: readonly { key: string; at?: string }[];
  },
): Promise<string[]> {
  const facts = holding.patientId === undefined ? [] : holding.facts;
  const { rows } = await UPDATE_NOTIFICATIONS<{
    id: string;
    withdrawn: boolean;
  }>({
    facts: JSON.stringify(facts),
    patientId: holding.patientId ?? null,
    subjectId,
  }).execute(tx.db);
  return rows.filter(({ withdrawn }) => withdrawn).map(({ id }) => id);
}

export type StoredNotification = Omit<Members<'notification'>, 'accountId'> & {
  externalId: string | null;
  followUp?: Pick<
    Members<'discharge_follow_up'>,
    'state' | 'reason' | 'queryIds' | 'startedAt' | 'endedAt'
  >;
};

export interface NotificationFilter {
  patientId?: string;
  type?: string;
  status?: 'current' | 'withdrawn';
}

export const NOTIFICATION_ORDER = newestFirst(
  NOTIFICATION_SORT,
  'n.notified_at',
  'n.id',
);

/**
 * A page of the account's notifications that match the filter, and how many
 * match in total.
 */
export async function listNotifications(
  tx: AccountTx,
  filter: NotificationFilter,
  request: PageRequest,
): Promise<CountedPage<StoredNotification>> {
  let matching = tx.db.selectFrom('notification as n');
  if (filter.patientId !== undefined)
    matching = matching.where('n.patient_id', '=', filter.patientId);
  if (filter.type !== undefined)
    matching = matching.where('n.type', '=', filter.type);
  if (filter.status !== undefined)
    matching = matching.where(
      'n.withdrawn_at',
      filter.status === 'current' ? 'is' : 'is not',
      null,
    );
  const page = await readCountedPage(
    tx.db,
    matching.select('n.id'),
    NOTIFICATION_ORDER,
    request,
  );
  const ids = page.items.map(({ id }) => id);
  const read = new Map(
    (await readNotifications(tx, ids)).map((notification) => [
      notification.id,
      notification,
    ]),
  );
  return { ...page, items: ids.flatMap((id) => read.get(id) ?? []) };
}

export async function findNotification(
  tx: AccountTx,
  id: string,
): Promise<StoredNotification | undefined> {
  return (await readNotifications(tx, [id]))[0];
}

async function readNotifications(
  tx: AccountTx,
  ids: readonly string[],
): Promise<StoredNotification[]> {
  if (ids.length === 0) return [];
  const rows = await tx.db
    .selectFrom('notification as n')
    .innerJoin('patient as p', 'p.id', 'n.patient_id')
    .leftJoin('discharge_follow_up as f', 'f.notification_id', 'n.id')
    .selectAll('n')
    .select([
      'p.external_id',
      'f.state',
      'f.reason',
      'f.query_ids',
      'f.started_at',
      'f.ended_at',
    ])
    .where('n.id', 'in', [...ids])
    .execute();
  return rows.map(
    ({
      account_id: _,
      state,
      reason,
      query_ids,
      started_at,
      ended_at,
      ...row
    }) => ({
      ...membersOf(row),
      ...(state !== null &&
        started_at !== null && {
          followUp: {
            state,
            reason,
            queryIds: query_ids ?? [],
            startedAt: started_at,
            endedAt: ended_at,
          },
        }),
    }),
  );
}
