import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { agreesWithPerson } from '#person-matching';
import {
  IDENTITY_VERIFIED_EVENT_TYPE,
  type IdentityVerifiedEvent,
} from '../../../contract/identity.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { readCallback } from '../../platform/http/signed-callback.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import { findPatient } from '../patients/patient-store.ts';
import {
  AAL2_SESSION_MS,
  aal2SessionHash,
  aal2SessionId,
} from './aal2-session.ts';
import {
  accountOfVerification,
  endChallenge,
  endSession,
  findChallenge,
  findSession,
  insertProofedIdentity,
  type StoredSession,
} from './identity-store.ts';

const text = z.string().min(1).max(200);
const callbackSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('session.verified'),
    reference: z.uuid(),
    /** The partner's own id of the person. */
    subject: text,
    /** The verified person. */
    person: z.object({ firstName: text, lastName: text, dob: z.iso.date() }),
  }),
  z.object({ type: z.literal('challenge.verified'), reference: z.uuid() }),
  z.object({
    type: z.enum(['session.failed', 'challenge.failed']),
    reference: z.uuid(),
  }),
]);
type Callback = z.output<typeof callbackSchema>;

export const OTHER_PERSON = 'The verified person is not this patient';
const NOT_VERIFIED = 'The identity partner could not verify the person';

export type IdentityCallbackDeps = Pick<
  GatewayPlatform,
  'store' | 'linkSigningKey' | 'clock'
>;

/**
 * Handles the identity partner's callback with the outcome of a session or
 * challenge; the signature was already checked. The first outcome counts, a
 * repeated callback changes nothing. Statuses: 200 accepted, or already known;
 * 400 unreadable; 404 unknown reference; 410 received after the expiry.
 */
export async function handleIdentityCallback(
  deps: IdentityCallbackDeps,
  rawBody: Buffer,
): Promise<{ status: 200 | 400 | 404 | 410 }> {
  const callback = readCallback(callbackSchema, rawBody);
  if (callback === undefined) return { status: 400 };
  const kind = callback.type.startsWith('session') ? 'session' : 'challenge';
  const accountId = await deps.store.asSystem((tx) =>
    accountOfVerification(tx, kind, callback.reference),
  );
  if (accountId === undefined) return { status: 404 };
  const now = deps.clock?.() ?? new Date();
  return deps.store.asAccount(accountId, (tx) =>
    kind === 'session'
      ? applyToSession(tx, callback, now)
      : applyToChallenge(tx, deps, callback, now),
  );
}

interface Handled {
  status: 200 | 404 | 410;
}

async function applyToSession(
  tx: AccountTx,
  callback: Callback,
  now: Date,
): Promise<Handled> {
  const session = await findSession(tx, callback.reference, { lock: true });
  if (session === undefined) return { status: 404 };
  if (session.status !== 'pending') return { status: 200 };
  if (session.expiresAt <= now) return { status: 410 };
  const patient = await findPatient(tx, session.patientId);
  if (callback.type !== 'session.verified' || patient === undefined) {
    await endSession(
      tx,
      session.id,
      { status: 'failed', reason: NOT_VERIFIED },
      now,
    );
    return { status: 200 };
  }
  const { firstName, lastName, dob } = callback.person;
  // The person who followed the link and was verified need not be the patient.
  const isPatient = agreesWithPerson(patient, {
    resourceType: 'Patient',
    name: [{ given: [firstName], family: lastName }],
    birthDate: dob,
  });
  if (!isPatient) {
    await endSession(
      tx,
      session.id,
      { status: 'failed', reason: OTHER_PERSON },
      now,
    );
    return { status: 200 };
  }
  const proofedIdentityId = uuidv7();
  await endSession(tx, session.id, { status: 'verified' }, now);
  await insertProofedIdentity(tx, {
    id: proofedIdentityId,
    patientId: patient.id,
    sessionId: session.id,
    subject: callback.subject,
    verifiedAt: now,
  });
  await announce(tx, session, {
    patientId: patient.id,
    externalId: patient.externalId ?? undefined,
    proofedIdentityId,
    sessionId: session.id,
    status: 'verified',
    verifiedAt: now.toISOString(),
  });
  return { status: 200 };
}

async function applyToChallenge(
  tx: AccountTx,
  { linkSigningKey }: IdentityCallbackDeps,
  callback: Callback,
  now: Date,
): Promise<Handled> {
  const challenge = await findChallenge(tx, callback.reference, { lock: true });
  if (challenge === undefined) return { status: 404 };
  if (challenge.status !== 'pending') return { status: 200 };
  if (challenge.expiresAt <= now) return { status: 410 };
  const end =
    callback.type === 'challenge.verified'
      ? {
          status: 'verified' as const,
          sessionHash: aal2SessionHash(
            aal2SessionId(linkSigningKey, challenge.id),
          ),
          sessionExpiresAt: new Date(now.getTime() + AAL2_SESSION_MS),
        }
      : { status: 'failed' as const, reason: NOT_VERIFIED };
  await endChallenge(tx, challenge.id, end, now);
  return { status: 200 };
}

const announce = (
  tx: AccountTx,
  { id, patientId, metadata }: StoredSession,
  payload: IdentityVerifiedEvent['payload'],
): Promise<string | undefined> =>
  insertEvent(tx, {
    type: IDENTITY_VERIFIED_EVENT_TYPE,
    factKey: `${IDENTITY_VERIFIED_EVENT_TYPE}/${id}`,
    patientId,
    requestId: id,
    occurredAt: new Date(payload.verifiedAt),
    body: {
      meta: {
        requestId: id,
        when: payload.verifiedAt,
        type: IDENTITY_VERIFIED_EVENT_TYPE,
        ...(metadata && { data: metadata }),
      },
      payload,
    },
  });
