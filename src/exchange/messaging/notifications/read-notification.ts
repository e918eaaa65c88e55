import type { Bundle } from 'fhir/r4.js';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { ExchangeError, NotFoundError } from '../../platform/errors.ts';
import { readSubject } from './inbound-store.ts';
import { notificationBundle } from './notification-bundle.ts';
import { findNotification } from './notification-store.ts';
import { presentSubject } from './recording/present-subject.ts';
import { subjectState } from './subject-state.ts';

/**
 * The Patient, and what the sender reports today. Throws NotFoundError when the patient was deleted, and 410 when the sender
 * has since reported that this is about another person.
 *
 * @param audit writes the audit entry, in the transaction that reads the notification
 */
export async function readNotificationBundle(
  deps: { store: Store; blobs: BlobStore; idHmacKey: string },
  { accountId, notificationId }: { accountId: string; notificationId: string },
  audit: (tx: AccountTx, patientId: string) => Promise<void>,
): Promise<Bundle> {
  const { notification, factKey, patient } = await deps.store.asAccount(accountId, async (tx) => {
    const stored = await findNotification(tx, notificationId);
    const ofPatient = stored && (await findPatient(tx, stored.patientId));
    if (stored === undefined || ofPatient === undefined) throw new NotFoundError('Notification');
    await audit(tx, ofPatient.id);
    return { notification: stored, factKey: stored.factKey, patient: ofPatient };
  });
  const state = await deps.store.asSystem(async (tx) =>
    subjectState(await readSubject(tx, notification.subjectId)),
  );
  if (notification.withdrawnAt !== null && state.facts.some(({ key }) => key === factKey))
    throw new ExchangeError(
      410,
      'The sender has since reported that this notification was about another person',
    );
  const { resources } = await presentSubject(deps, notification.subjectId);
  return notificationBundle(patient, resources);
}
