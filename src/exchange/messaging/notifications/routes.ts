import type { FastifyInstance } from 'fastify';
import type { Bundle } from 'fhir/r4.js';
import { sql } from 'kysely';
import { fhirJson } from '../../../lib/written-decimals.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import {
  ConflictError,
  ExchangeError,
  NotFoundError,
  orNotFound,
} from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import {
  addSignedLinkRoute,
  auditLink,
} from '../../platform/http/signed-link-route.ts';
import { endFollowUps } from './follow-up/follow-up-store.ts';
import type { FollowUps } from './follow-up/follow-ups.ts';
import { readSubject } from './inbound-store.ts';
import { notificationBundle } from './notification-bundle.ts';
import {
  findNotification,
  listNotifications,
  NOTIFICATION_ORDER,
  type StoredNotification,
} from './notification-store.ts';
import { presentSubject } from './recording/present-subject.ts';
import { notificationUrl, serializeNotification } from './serializers.ts';
import { subjectState } from './subject-state.ts';

/** Notifications and their follow-ups (docs/interface.md, "Notifications"). */
export function addNotificationRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey' | 'links'> & {
    followUps: Pick<FollowUps, 'launch' | 'wake'>;
  },
): void {
  const answerOf = (
    { accountId }: AccountTx,
    notification: StoredNotification,
  ) =>
    serializeNotification(
      notification,
      notificationUrl(deps.links, {
        accountId,
        notificationId: notification.id,
      }),
    );

  operations.read('listNotifications', async (tx, { query }) => {
    const { patientId, type, status } = query;
    const opened = openPage(
      deps,
      'listNotifications',
      { query },
      NOTIFICATION_ORDER,
    );
    const page = await listNotifications(
      tx,
      { patientId, type, status },
      opened.request,
    );
    return ok({
      notifications: page.items.map((notification) =>
        answerOf(tx, notification),
      ),
      meta: opened.meta(page),
    });
  });

  operations.read('getNotification', async (tx, { params }) =>
    ok(
      answerOf(
        tx,
        orNotFound('Notification', await findNotification(tx, params.id)),
      ),
    ),
  );

  operations.write('cancelFollowUp', async (tx, { params }) => {
    const { followUp } = orNotFound(
      'Notification',
      await findNotification(tx, params.id),
    );
    orNotFound('Follow-up of this notification', followUp);
    const ended = await endFollowUps(
      tx,
      [params.id],
      'cancelled',
      'Cancelled on request',
    );
    if (ended.length === 0) throw new ConflictError('The follow-up has ended');
    const notification = orNotFound(
      'Notification',
      await findNotification(tx, params.id),
    );
    return ok(answerOf(tx, notification), {
      patientId: notification.patientId,
      targetId: notification.id,
      afterCommit: () => deps.followUps.wake(tx.accountId, notification.id),
    });
  });
}

/**
 * Serves the Bundle to which the webhooks `patient.…` link; the signed link is
 * the permission.
 */
export function addNotificationLinkRoute(
  app: FastifyInstance,
  deps: Pick<
    GatewayPlatform,
    'store' | 'blobs' | 'idHmacKey' | 'linkSigningKey'
  >,
): void {
  addSignedLinkRoute(
    app,
    deps,
    'encounter',
    'readNotificationLink',
    async (link, request, reply) => {
      const { accountId, targetId } = link;
      const bundle = await readNotificationBundle(
        deps,
        { accountId, notificationId: targetId },
        (tx, patientId) =>
          auditLink(tx, request, {
            operation: 'readNotificationLink',
            patientId,
            targetId,
          }),
      );
      return reply
        .type('application/fhir+json; charset=utf-8')
        .send(fhirJson(bundle));
    },
  );
}

/**
 * The Patient, and what the sender reports today. Throws NotFoundError when the
 * patient was deleted, and 410 when the sender has since reported that this is
 * about another person.
 *
 * @param audit writes the audit entry, in the transaction that reads the
 *   notification
 */
async function readNotificationBundle(
  deps: { store: Store; blobs: BlobStore; idHmacKey: string },
  { accountId, notificationId }: { accountId: string; notificationId: string },
  audit: (tx: AccountTx, patientId: string) => Promise<void>,
): Promise<Bundle> {
  const { notification, factKey, patient } = await deps.store.asAccount(
    accountId,
    async (tx) => {
      const stored = await findNotification(tx, notificationId);
      const ofPatient = stored && (await findPatient(tx, stored.patientId));
      if (stored === undefined || ofPatient === undefined)
        throw new NotFoundError('Notification');
      await audit(tx, ofPatient.id);
      return {
        notification: stored,
        factKey: stored.factKey,
        patient: ofPatient,
      };
    },
  );
  const state = await deps.store.asSystem(async (tx) =>
    subjectState(await readSubject(tx, notification.subjectId)),
  );
  if (
    notification.withdrawnAt !== null &&
    state.facts.some(({ key }) => key === factKey)
  )
    throw new ExchangeError(
      410,
      'The sender has since reported that this notification was about another person',
    );
  const { resources } = await presentSubject(deps, notification.subjectId);
  const { rows } = await deps.store.asAccount(accountId, ({ db }) =>
    sql<{ places: number[] }>`
      select leaving(${accountId}, ${patient.id}, ${JSON.stringify(resources)}::jsonb) as places`.execute(
      db,
    ),
  );
  const leaving = new Set(rows[0]?.places);
  return notificationBundle(
    patient,
    resources.filter((_, place) => leaving.has(place)),
  );
}
