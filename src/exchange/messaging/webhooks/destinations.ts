import { v7 as uuidv7 } from 'uuid';
import { TEST_EVENT_TYPE } from '../../../contract/webhook-test.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  InvalidRequestError,
  NotFoundError,
  orNotFound,
} from '../../platform/errors.ts';
import {
  type DestinationRules,
  destinationProblem,
} from '../../platform/outbox/destination-guard.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import {
  generateWebhookKey,
  type WebhookKeys,
} from '../../platform/outbox/webhook-key.ts';
import {
  findDestinationById,
  insertDestination,
  listDestinations,
  rotateKey,
  type StoredDestination,
} from './destination-store.ts';
import {
  findEventOfMessage,
  messagesBetween,
  reopenMessages,
  reopenUndelivered,
} from './replay-store.ts';
import { findDestination } from './settings-store.ts';

const DESTINATIONS_MAX = 20;
const REPLAY_MAX = 10_000;
const HOUR_MS = 3_600_000;

/**
 * Throws InvalidRequestError if webhooks must not be sent to the URL. `path` is
 * the member of the request.
 */
export function checkAddress(
  path: string,
  url: string,
  rules: DestinationRules,
): void {
  const problem = destinationProblem(url, rules);
  if (problem !== undefined)
    throw new InvalidRequestError([{ path, message: problem }]);
}

/**
 * Creates a further destination. Throws InvalidRequestError if the account
 * already has the maximum number.
 */
export async function createDestination(
  tx: AccountTx,
  keys: WebhookKeys,
  body: { url: string; types: string[] },
): Promise<StoredDestination> {
  if ((await listDestinations(tx)).length >= DESTINATIONS_MAX) {
    const message = `the account already has the maximum of ${DESTINATIONS_MAX} further destinations; delete one first`;
    throw new InvalidRequestError([{ path: '', message }]);
  }
  const types = [...new Set(body.types)];
  return insertDestination(tx, {
    id: uuidv7(),
    url: body.url,
    types,
    key: keys.seal(generateWebhookKey()),
  });
}

/** Returns a further destination. Throws NotFoundError. */
export async function requireDestination(
  tx: AccountTx,
  id: string,
): Promise<StoredDestination> {
  const destination = await findDestinationById(tx, id);
  if (destination === undefined || destination.ofSettings)
    throw new NotFoundError('Webhook');
  return destination;
}

/**
 * Returns the destination of the settings. Throws InvalidRequestError if none
 * is set.
 */
export async function requireSettingsDestination(
  tx: AccountTx,
): Promise<StoredDestination> {
  const destination = await findDestination(tx);
  if (destination !== undefined && destination.url !== null) return destination;
  throw new InvalidRequestError([
    {
      path: '',
      message: 'no webhookUrl is set; set one with POST /medical/v1/settings',
    },
  ]);
}

/**
 * Gives a destination a new key. The previous key stays valid for
 * `overlapHours`.
 */
export async function rotateWebhookKey(
  tx: AccountTx,
  keys: WebhookKeys,
  destination: StoredDestination,
  overlapHours: number,
): Promise<{ webhookKey: string; previousKeyUntil: string }> {
  const webhookKey = generateWebhookKey();
  const previousUntil = new Date(Date.now() + overlapHours * HOUR_MS);
  await rotateKey(tx, destination.id, {
    key: keys.seal(webhookKey),
    previousUntil,
  });
  return { webhookKey, previousKeyUntil: previousUntil.toISOString() };
}

/** Writes a test event for one destination; returns its id. */
export async function writeTestEvent(
  tx: AccountTx,
  destination: StoredDestination,
): Promise<string> {
  const now = new Date();
  const eventId = await insertEvent(
    tx,
    {
      type: TEST_EVENT_TYPE,
      factKey: `${TEST_EVENT_TYPE}/${uuidv7()}`,
      occurredAt: now,
      body: {
        meta: { when: now.toISOString(), type: TEST_EVENT_TYPE },
        payload: { message: 'Test event, sent on request' },
      },
    },
    { destinationId: destination.id },
  );
  if (eventId === undefined)
    throw new Error('the fact key of a test event must be unique');
  return eventId;
}

/** Selects the events to resend; without a member, all undelivered events. */
export interface Replay {
  eventId?: string;
  from?: string;
  to?: string;
  webhookId?: string;
}

/**
 * Reopens the events to resend, and returns the ids of their rows in order.
 * Throws NotFoundError for an unknown event or destination, and
 * InvalidRequestError if the period contains too many events.
 */
export async function openReplay(
  tx: AccountTx,
  { eventId, from, to, webhookId }: Replay,
): Promise<string[]> {
  if (
    webhookId !== undefined &&
    (await findDestinationById(tx, webhookId)) === undefined
  )
    throw new NotFoundError('Webhook');
  if (eventId !== undefined) {
    const message = orNotFound('Event', await findEventOfMessage(tx, eventId));
    return reopenMessages(tx, [message], webhookId);
  }
  if (from === undefined) return reopenUndelivered(tx);
  const until = to === undefined ? new Date() : new Date(to);
  const messages = await messagesBetween(tx, new Date(from), until, REPLAY_MAX);
  if (messages.length > REPLAY_MAX) {
    const message = `there are more than ${REPLAY_MAX.toLocaleString('en-US')} events in this period; choose a shorter one`;
    throw new InvalidRequestError([{ path: 'from', message }]);
  }
  return reopenMessages(tx, messages, webhookId);
}
