import { type SqlBool, sql } from 'kysely';
import {
  SENT_EVENT_SORT,
  type SentEvent,
} from '../../../contract/sent-events.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type CountedPage,
  newestFirst,
  type PageRequest,
  readCountedPage,
} from '../../platform/database/page.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { ATTEMPTS } from '../../platform/outbox/delivery-record-store.ts';
import type { EventState } from '../../platform/outbox/tables.ts';

const DELIVERIES = sqlFile('sent-events.sql', import.meta.url);

export const SENT_EVENT_ORDER = newestFirst(
  SENT_EVENT_SORT,
  'event.occurred_at',
  'event.id',
);

export interface SentEventFilter {
  type?: string;
  status?: SentEvent['status'];
  patientId?: string;
  requestId?: string;
  from?: string;
  to?: string;
}

/** SQL condition: one of the message's rows is in one of these states. */
const hasRowIn = (...states: EventState[]) =>
  sql<SqlBool>`exists (select from event e
    where (e.id = event.id or e.copy_of = event.id) and e.status = any(${states}))`;

/** SQL: the state of a message over all its destinations. */
const STATUS = sql<SentEvent['status']>`case
  when ${hasRowIn('pending', 'delivering')} then 'pending'
  when ${hasRowIn('dead')} then 'failed'
  when ${hasRowIn('delivered')} then 'delivered'
  else 'unrouted' end`;

/** Notifications of FHIR Subscriptions have operations of their own. */
const messages = (tx: AccountTx) =>
  tx.db
    .selectFrom('event')
    .where('event.account_id', '=', tx.accountId)
    .where('event.copy_of', 'is', null)
    .where('event.type', 'not like', 'subscription.%');

const COLUMNS = [
  'event.id',
  'event.type',
  'event.occurred_at as occurredAt',
  'event.patient_id as patientId',
  'event.request_id as requestId',
] as const;

/** A page of the events that match the filter, and how many match in total. */
export async function listSentEvents(
  tx: AccountTx,
  { type, status, patientId, requestId, from, to }: SentEventFilter,
  request: PageRequest,
): Promise<CountedPage<SentEvent>> {
  let matching = messages(tx).select(COLUMNS).select(STATUS.as('status'));
  if (type !== undefined) matching = matching.where('event.type', '=', type);
  if (status !== undefined) matching = matching.where(STATUS, '=', status);
  if (patientId !== undefined)
    matching = matching.where('event.patient_id', '=', patientId);
  if (requestId !== undefined)
    matching = matching.where('event.request_id', '=', requestId);
  if (from !== undefined)
    matching = matching.where('event.occurred_at', '>=', new Date(from));
  if (to !== undefined)
    matching = matching.where('event.occurred_at', '<=', new Date(to));
  const page = await readCountedPage(
    tx.db,
    matching,
    SENT_EVENT_ORDER,
    request,
  );
  return { ...page, items: await withDeliveries(tx, page.items) };
}

/** An event with the body that was sent, as it is stored: without links. */
export async function findSentEvent(
  tx: AccountTx,
  id: string,
): Promise<(SentEvent & { body: Record<string, unknown> }) | undefined> {
  const row = await messages(tx)
    .select([...COLUMNS, 'event.body'])
    .select(STATUS.as('status'))
    .where('event.id', '=', id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { body, ...message } = row;
  const [event] = await withDeliveries(tx, [message]);
  return event && { ...event, body };
}

interface Message {
  id: string;
  type: string;
  status: SentEvent['status'];
  occurredAt: Date;
  patientId: string | null;
  requestId: string | null;
}

interface Delivery {
  messageId: string;
  webhookId: string;
  url: string | null;
  status: EventState;
  attempts: { at: string; httpStatus: number | null; outcome: string }[];
  nextAttemptAt: Date | null;
  deliveredAt: Date | null;
}

async function withDeliveries(
  tx: AccountTx,
  messagesOfPage: readonly Message[],
): Promise<SentEvent[]> {
  const ids = messagesOfPage.map(({ id }) => id);
  const { accountId } = tx;
  const { rows } = await DELIVERIES<Delivery>({
    attempts: ATTEMPTS,
    accountId,
    ids,
  }).execute(tx.db);
  const byMessage = Map.groupBy(rows, ({ messageId }) => messageId);
  return messagesOfPage.map(
    ({ patientId, requestId, occurredAt, ...rest }) => ({
      ...rest,
      occurredAt: occurredAt.toISOString(),
      patientId: patientId ?? undefined,
      requestId: requestId ?? undefined,
      deliveries: (byMessage.get(rest.id) ?? []).map(serializeDelivery),
    }),
  );
}

const STATUS_OF: Readonly<Record<EventState, SentEvent['status']>> = {
  pending: 'pending',
  delivering: 'pending',
  delivered: 'delivered',
  dead: 'failed',
  unrouted: 'unrouted',
};

const serializeDelivery = ({
  webhookId,
  url,
  status,
  attempts,
  nextAttemptAt,
  deliveredAt,
}: Delivery): SentEvent['deliveries'][number] => ({
  webhookId,
  url: url ?? undefined,
  status: STATUS_OF[status],
  attempts: attempts.map(({ at, httpStatus, outcome }) => ({
    at: new Date(at).toISOString(),
    httpStatus: httpStatus ?? undefined,
    outcome,
  })),
  nextAttemptAt:
    STATUS_OF[status] === 'pending' ? nextAttemptAt?.toISOString() : undefined,
  deliveredAt: deliveredAt?.toISOString(),
});
