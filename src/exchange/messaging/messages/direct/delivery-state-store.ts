import { sql } from 'kysely';
import type { ArrivedReceipt, HandedOver, Receipt } from '#direct';
import { type Members, membersOf } from '../../../platform/database/columns.ts';
import type { AccountTx } from '../../../platform/database/database.ts';

type StoredDelivery = Members<'direct_delivery'>;

/** A message as it stands at its recipient. */
export interface MessageStanding extends HandedOver {
  receipts: ArrivedReceipt[];
}

/**
 * Records that the mail server has taken a message. The first time counts: its
 * hour runs from then.
 */
export async function recordHandOver(
  tx: AccountTx,
  messageId: string,
  asksForDispatched: boolean,
): Promise<void> {
  await tx.db
    .insertInto('direct_delivery')
    .values({
      message_id: messageId,
      account_id: tx.accountId,
      handed_over_at: sql<Date>`clock_timestamp()`,
      asks_for_dispatched: asksForDispatched,
    })
    .onConflict((conflict) =>
      conflict.column('message_id').doUpdateSet(({ ref }) => ({
        handed_over_at: sql<Date>`coalesce(direct_delivery.handed_over_at, excluded.handed_over_at)`,
        asks_for_dispatched: ref('excluded.asks_for_dispatched'),
      })),
    )
    .execute();
}

const COLUMNS = {
  processed: 'processed_at',
  dispatched: 'dispatched_at',
  failed: 'failed_at',
} as const satisfies Record<Receipt, string>;

/** Records a receipt; of several of one kind, the earliest counts. */
export async function recordReceipt(
  tx: AccountTx,
  messageId: string,
  { says, arrivedAt }: ArrivedReceipt,
): Promise<void> {
  const column = COLUMNS[says];
  await tx.db
    .insertInto('direct_delivery')
    .values({
      message_id: messageId,
      account_id: tx.accountId,
      [column]: arrivedAt,
    })
    .onConflict((conflict) =>
      conflict.column('message_id').doUpdateSet({
        [column]: sql<Date>`least(direct_delivery.${sql.ref(column)}, excluded.${sql.ref(column)})`,
      }),
    )
    .execute();
}

/** Undefined for a message whose hand-over is not recorded. */
export async function findStanding(
  tx: AccountTx,
  messageId: string,
): Promise<MessageStanding | undefined> {
  const row = await tx.db
    .selectFrom('direct_delivery')
    .selectAll()
    .where('message_id', '=', messageId)
    .executeTakeFirst();
  return row && standingOf(membersOf(row));
}

function standingOf(stored: StoredDelivery): MessageStanding | undefined {
  const { handedOverAt, asksForDispatched } = stored;
  if (handedOverAt === null) return undefined;
  return {
    sentAt: handedOverAt,
    asksForDispatched,
    receipts: [
      ...receiptOf('processed', stored.processedAt),
      ...receiptOf('dispatched', stored.dispatchedAt),
      ...receiptOf('failed', stored.failedAt),
    ],
  };
}

const receiptOf = (says: Receipt, arrivedAt: Date | null): ArrivedReceipt[] =>
  arrivedAt === null ? [] : [{ says, arrivedAt }];
