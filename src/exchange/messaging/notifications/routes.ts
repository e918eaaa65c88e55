import type { FastifyInstance } from 'fastify';
import { fhirJson } from '../../../lib/written-decimals.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { ConflictError } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok, orNotFound } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import { addSignedLinkRoute, auditLink } from '../../platform/http/signed-link-route.ts';
import { endFollowUps } from './follow-up/follow-up-store.ts';
import type { FollowUps } from './follow-up/follow-ups.ts';
import { notificationUrl } from './notification-link.ts';
import {
  findNotification,
  listNotifications,
  NOTIFICATION_ORDER,
  type StoredNotification,
} from './notification-store.ts';
import { readNotificationBundle } from './read-notification.ts';
import { serializeNotification } from './serializers.ts';

/** Notifications and their follow-ups (docs/interface.md, "Notifications"). */
export function addNotificationRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey' | 'links'> & {
    followUps: Pick<FollowUps, 'launch' | 'wake'>;
  },
): void {
  const answerOf = ({ accountId }: AccountTx, notification: StoredNotification) =>
    serializeNotification(
      notification,
      notificationUrl(deps.links, { accountId, notificationId: notification.id }),
    );

  operations.read('listNotifications', async (tx, { query }) => {
    const { patientId, type, status } = query;
    const opened = openPage(deps, 'listNotifications', { query }, NOTIFICATION_ORDER);
    const page = await listNotifications(tx, { patientId, type, status }, opened.request);
    return ok({
      notifications: page.items.map((notification) => answerOf(tx, notification)),
      meta: opened.meta(page),
    });
  });

  operations.read('getNotification', async (tx, { params }) =>
    ok(answerOf(tx, orNotFound('Notification', await findNotification(tx, params.id)))),
  );

  operations.write('cancelFollowUp', async (tx, { params }) => {
    const { followUp } = orNotFound('Notification', await findNotification(tx, params.id));
    orNotFound('Follow-up of this notification', followUp);
    const ended = await endFollowUps(tx, [params.id], 'cancelled', 'Cancelled on request');
    if (ended.length === 0) throw new ConflictError('The follow-up has ended');
    const notification = orNotFound('Notification', await findNotification(tx, params.id));
    return ok(answerOf(tx, notification), {
      patientId: notification.patientId,
      targetId: notification.id,
      afterCommit: () => deps.followUps.wake(tx.accountId, notification.id),
    });
  });
}

/** Serves the Bundle to which the webhooks `patient.…` link; the signed link is the permission. */
export function addNotificationLinkRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'idHmacKey' | 'linkSigningKey'>,
): void {
  addSignedLinkRoute(app, deps, 'encounter', 'readNotificationLink', async (link, request, reply) => {
    const { accountId, targetId } = link;
    const bundle = await readNotificationBundle(
      deps,
      { accountId, notificationId: targetId },
      (tx, patientId) => auditLink(tx, request, { operation: 'readNotificationLink', patientId, targetId }),
    );
    return reply.type('application/fhir+json; charset=utf-8').send(fhirJson(bundle));
  });
}
