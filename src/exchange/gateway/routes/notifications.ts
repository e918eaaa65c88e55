import type { FastifyInstance } from 'fastify';
import { ConflictError } from '../../errors.ts';
import { notificationUrl } from '../../notifications/notification-link.ts';
import { readNotificationBundle } from '../../notifications/read-notification.ts';
import type { AccountTx } from '../../store/database.ts';
import { endFollowUps } from '../../store/follow-ups.ts';
import {
  findNotification,
  listNotifications,
  NOTIFICATION_ORDER,
  type StoredNotification,
} from '../../store/notifications.ts';
import { notificationAnswer } from '../answers/notification.ts';
import type { GatewayDeps } from '../deps.ts';
import { found, ok } from '../operation.ts';
import type { Operations } from '../operations.ts';
import { openPage } from '../paging.ts';
import { addSignedLinkRoute, auditLink } from '../signed-link-route.ts';

export function addNotificationRoutes(
  operations: Operations,
  deps: Pick<GatewayDeps, 'publicBaseUrl' | 'linkSigningKey' | 'links' | 'followUps'>,
): void {
  const answerOf = ({ accountId }: AccountTx, notification: StoredNotification) =>
    notificationAnswer(
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
    ok(answerOf(tx, found('Notification', await findNotification(tx, params.id)))),
  );

  operations.write('cancelFollowUp', async (tx, { params }) => {
    const { followUp } = found('Notification', await findNotification(tx, params.id));
    found('Follow-up of this notification', followUp);
    const ended = await endFollowUps(tx, [params.id], 'cancelled', 'Cancelled on request');
    if (ended.length === 0) throw new ConflictError('The follow-up has ended');
    const notification = found('Notification', await findNotification(tx, params.id));
    return ok(answerOf(tx, notification), {
      patientId: notification.patientId,
      targetId: notification.id,
      afterCommit: () => deps.followUps.wake(tx.accountId, notification.id),
    });
  });
}

/** What the webhooks `patient.…` point to: the signed link is the permission. */
export function addNotificationLinkRoute(
  app: FastifyInstance,
  deps: Pick<GatewayDeps, 'store' | 'blobs' | 'linkSigningKey'>,
): void {
  addSignedLinkRoute(app, deps, 'encounter', 'readNotificationLink', async (link, request, reply) => {
    const { accountId, targetId } = link;
    const bundle = await readNotificationBundle(
      deps,
      { accountId, notificationId: targetId },
      (tx, patientId) => auditLink(tx, request, { operation: 'readNotificationLink', patientId, targetId }),
    );
    return reply.type('application/fhir+json; charset=utf-8').send(JSON.stringify(bundle));
  });
}
