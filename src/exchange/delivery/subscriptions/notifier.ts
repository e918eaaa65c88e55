import { fhirJson } from '../../../lib/written-decimals.ts';
import { createKeyCheck } from '../../access/accounts/key-check.ts';
import { findClient } from '../../access/fhir-clients/client-store.ts';
import {
  grantedScopes,
  typesOfScopes,
} from '../../access/fhir-clients/rules/fhir-scopes.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { FHIR_PATH } from '../../platform/http/operation-outcome.ts';
import type { OpenEvent } from '../../platform/outbox/claim-store.ts';
import type { Notification } from '../../platform/outbox/sender.ts';
import type { WebhookKeys } from '../../platform/outbox/webhook-key.ts';
import { withAddressesAt } from '../../records/rules/attachment-addresses.ts';
import { readServed } from '../fhir-api/search-record.ts';
import {
  notificationOf,
  type ShownEvent,
  type Standing,
} from './rules/notification.ts';
import type { Content } from './rules/subscription-request.ts';
import {
  isAllShown,
  markSubscription,
  type NumberedRow,
  readNumbered,
  readSubscriptions,
  type StoredSubscription,
} from './subscription-store.ts';

/**
 * Says what is sent to a subscription for an event: whether its creator may
 * still have it, and what of it may be seen, is decided at each attempt. An
 * endpoint that has not accepted a handshake gets one first, and nothing else
 * before it has.
 */
export function createNotifier(deps: {
  store: Store;
  webhookKeys: Pick<WebhookKeys, 'open'>;
  publicBaseUrl: string;
}): (accountId: string, event: OpenEvent) => Promise<Notification> {
  const { store, webhookKeys, publicBaseUrl } = deps;
  const permissionOf = createPermissionCheck(store);
  const base = `${publicBaseUrl}${FHIR_PATH}`;
  return async (accountId, { id: eventId, destinationId: id, type }) => {
    const inAccount = <T>(work: (tx: AccountTx) => Promise<T>) =>
      store.asAccount(accountId, work);
    const [row] = await inAccount((tx) => readSubscriptions(tx, { _id: [id] }));
    if (row === undefined) return { ended: 'the subscription was deleted' };
    const permission =
      row.status === 'off'
        ? { ended: row.error ?? '' }
        : await permissionOf(row);
    if ('ended' in permission) {
      await inAccount((tx) => markSubscription(tx, id, permission.ended));
      return permission;
    }
    const posts: { body: string; onAccepted?: () => Promise<void> }[] = [];
    const isVerified = row.verified_at !== null;
    if (!isVerified || type === 'subscription.handshake') {
      const onAccepted = () => inAccount((tx) => markSubscription(tx, id));
      posts.push({
        body: fhirJson(notificationOf(row, base, 'handshake')),
        onAccepted,
      });
    }
    const now: Standing = isVerified
      ? row
      : { ...row, status: 'active', error: null };
    if (type === 'subscription.heartbeat')
      posts.push({ body: fhirJson(notificationOf(now, base, 'heartbeat')) });
    if (type === 'subscription.events') {
      const { events, shown } = await inAccount(async (tx) => {
        const rows = await readNumbered(tx, {
          id,
          since: 1,
          limit: 1,
          eventId,
        });
        const found = await showEvents(tx, rows, {
          content: row.content,
          base,
          types: permission.types,
        });
        const patientId = found.some(({ focus }) => focus !== undefined)
          ? rows[0]?.patientId
          : undefined;
        const about = { actor: row.actor, patientId, targetId: id };
        if (patientId !== undefined)
          await insertAuditEntry(tx, {
            ...about,
            operation: 'fhirNotification',
            outcome: '200',
          });
        return { shown: found, events: rows[0]?.number ?? row.events };
      });
      posts.push({
        body: fhirJson(
          notificationOf({ ...now, events }, base, 'event-notification', shown),
        ),
      });
    }
    const headers = JSON.parse(webhookKeys.open(row.headers)) as Record<
      string,
      string
    >;
    const { payload } = row.resource.channel;
    return {
      posts,
      headers: { ...headers, 'content-type': payload },
      timeoutMs: row.timeout_ms ?? undefined,
    };
  };
}

/**
 * The types that a subscription may see; undefined: all. Or why it gets nothing
 * more.
 */
type Permission =
  | { types: ReadonlySet<string> | undefined }
  | { ended: string };

/**
 * Checks that the credential that created a subscription is still good, and
 * which types its scopes still permit.
 */
function createPermissionCheck(store: Store) {
  const keys = createKeyCheck(store);
  return async ({ actor, scopes }: StoredSubscription): Promise<Permission> => {
    const [kind, credentialId = ''] = actor.split(':');
    if (
      kind === 'key' &&
      (await keys.byId(credentialId))?.scopes.includes('read') !== true
    )
      return {
        ended:
          'The API key that created the subscription was revoked or has expired',
      };
    if (kind !== 'client') return { types: undefined };
    const client = await store.asSystem((tx) => findClient(tx, credentialId));
    if (client === undefined || client.revoked_at !== null)
      return { ended: 'The client that created the subscription was revoked' };
    return { types: typesOfScopes(grantedScopes(scopes ?? [], client.scopes)) };
  };
}

/**
 * The events of these rows, as far as they may be seen now. Of what is
 * withheld, has gone or is not permitted, the number and the time remain, so
 * that no number is missing.
 *
 * @param of.types the types that may be seen; undefined: all
 */
export async function showEvents(
  tx: AccountTx,
  rows: readonly NumberedRow[],
  {
    types,
    content,
    base,
  }: { types: ReadonlySet<string> | undefined; content: Content; base: string },
): Promise<ShownEvent[]> {
  const all: ShownEvent[] = [];
  for (const { patientId, number, at, events } of rows) {
    const isDelete = ({ triggers }: { triggers: string[] }) =>
      triggers.includes('delete');
    const permitted = events.filter(
      ({ focus }) => content !== 'empty' && types?.has(focus.type) !== false,
    );
    const wanted = permitted.map(({ focus }) => ({
      resourceType: focus.type,
      id: focus.id,
    }));
    const served =
      wanted.length === 0 ? [] : await readServed(tx, patientId, wanted);
    const jsonOf = new Map(served.map(({ id, json }) => [id, json]));
    const areGoneShown =
      permitted.some(isDelete) && (await isAllShown(tx, patientId));
    for (const [index, event] of events.entries()) {
      const json = jsonOf.get(event.focus.id);
      const isShown =
        json !== undefined ||
        (permitted.includes(event) && isDelete(event) && areGoneShown);
      all.push({
        number: number - events.length + 1 + index,
        at,
        ...(isShown && event),
        ...(isShown &&
          content === 'full-resource' && {
            resource: json ? withAddressesAt(base, json) : null,
          }),
      });
    }
  }
  return all;
}
