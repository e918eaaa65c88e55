import { v7 as uuidv7 } from 'uuid';
import { TEST_EVENT_TYPE } from '../../contract/webhook-test.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { InvalidRequestError, NotFoundError } from '../platform/errors.ts';
import { type DestinationRules, refusedDestination } from '../platform/outbox/destination-guard.ts';
import { insertEvent } from '../platform/outbox/event-store.ts';
import { generateWebhookKey, SEALED, type WebhookKeys } from '../platform/outbox/webhook-key.ts';
import {
  findDestinationById,
  insertDestination,
  listDestinations,
  replaceKey,
  rotateKey,
  type StoredDestination,
} from './destination-store.ts';
import { findEventOfMessage, messagesBetween, reopenMessages, reopenUndelivered } from './replay-store.ts';
import { findDestination } from './settings-store.ts';

const DESTINATIONS_MAX = 20;
const REPLAY_MAX = 10_000;
const HOUR_MS = 3_600_000;

/** Throws InvalidRequestError when webhooks must not go to the address. */
export function checkAddress(path: string, url: string, rules: DestinationRules): void {
  const refused = refusedDestination(url, rules);
  if (refused !== undefined) throw new InvalidRequestError([{ path, message: refused }]);
}

/** Throws InvalidRequestError when the account has as many as it may. */
export async function createDestination(
  tx: AccountTx,
  keys: WebhookKeys,
  body: { url: string; types: string[] },
): Promise<StoredDestination> {
  if ((await listDestinations(tx)).length >= DESTINATIONS_MAX) {
    const message = `the account has ${DESTINATIONS_MAX} further destinations, which is the most; delete one first`;
    throw new InvalidRequestError([{ path: '', message }]);
  }
  const types = [...new Set(body.types)];
  return insertDestination(tx, { id: uuidv7(), url: body.url, types, key: keys.seal(generateWebhookKey()) });
}

/** A destination beside the one of the settings. Throws NotFoundError. */
export async function requireDestination(tx: AccountTx, id: string): Promise<StoredDestination> {
  const destination = await findDestinationById(tx, id);
  if (destination === undefined || destination.ofSettings) throw new NotFoundError('Webhook');
  return destination;
}

/** The destination of the settings. Throws InvalidRequestError when none is set. */
export async function requireSettingsDestination(tx: AccountTx): Promise<StoredDestination> {
  const destination = await findDestination(tx);
  if (destination !== undefined && destination.url !== null) return destination;
  throw new InvalidRequestError([{ path: '', message: 'no webhookUrl is set (POST /medical/v1/settings)' }]);
}

/** Gives a destination a new key; the one before it is good for so many hours more. */
export async function giveNewKey(
  tx: AccountTx,
  keys: WebhookKeys,
  destination: StoredDestination,
  overlapHours: number,
): Promise<{ webhookKey: string; previousKeyUntil: string }> {
  const webhookKey = generateWebhookKey();
  const previousUntil = new Date(Date.now() + overlapHours * HOUR_MS);
  const { id, key } = destination;
  // One in clear would stay so: `reconcile` seals the present key, not the one before it.
  if (key !== null && !key.startsWith(SEALED)) await replaceKey(tx, { id, key }, keys.seal(key));
  await rotateKey(tx, id, { key: keys.seal(webhookKey), previousUntil });
  return { webhookKey, previousKeyUntil: previousUntil.toISOString() };
}

/** Writes a test event for one destination alone; returns its id. */
export async function writeTestEvent(tx: AccountTx, destination: StoredDestination): Promise<string> {
  const now = new Date();
  const eventId = await insertEvent(
    tx,
    {
      type: TEST_EVENT_TYPE,
      factKey: `${TEST_EVENT_TYPE}/${uuidv7()}`,
      occurredAt: now,
      body: {
        meta: { when: now.toISOString(), type: TEST_EVENT_TYPE },
        payload: { message: 'A test, sent on request' },
      },
    },
    { destinationId: destination.id },
  );
  if (eventId === undefined) throw new Error('a test event is no fact that was told before');
  return eventId;
}

/** What a caller wants sent again; nothing named: what is undelivered. */
export interface Replay {
  eventId?: string;
  from?: string;
  to?: string;
  webhookId?: string;
}

/**
 * Opens what is to be sent again, and returns its rows in their order. Throws NotFoundError, and InvalidRequestError when
 * the range names too many.
 */
export async function openReplay(tx: AccountTx, { eventId, from, to, webhookId }: Replay): Promise<string[]> {
  if (webhookId !== undefined && (await findDestinationById(tx, webhookId)) === undefined)
    throw new NotFoundError('Webhook');
  if (eventId !== undefined) {
    const message = await findEventOfMessage(tx, eventId);
    if (message === undefined) throw new NotFoundError('Event');
    return reopenMessages(tx, [message], webhookId);
  }
  if (from === undefined) return reopenUndelivered(tx);
  const until = to === undefined ? new Date() : new Date(to);
  const messages = await messagesBetween(tx, new Date(from), until, REPLAY_MAX);
  if (messages.length > REPLAY_MAX) {
    const message = `there are more than ${REPLAY_MAX.toLocaleString('en-US')} events in this time; choose a shorter one`;
    throw new InvalidRequestError([{ path: 'from', message }]);
  }
  return reopenMessages(tx, messages, webhookId);
}
