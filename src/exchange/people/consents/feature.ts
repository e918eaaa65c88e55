import type { AccountTx } from '../../platform/database/database.ts';
import {
  ConflictError,
  InvalidRequestError,
  orNotFound,
} from '../../platform/errors.ts';
import type {
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import { created, ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import type { Platform } from '../../platform/platform.ts';
import { itemRecovery } from '../../platform/recovery/recovery.ts';
import { findPatient } from '../patients/patient-store.ts';
import {
  endConsent,
  findConsent,
  findPassedConsents,
  insertConsent,
  listConsents,
  markReleased,
} from './consent-store.ts';
import {
  decisionOf,
  serializeConsent,
  statedOf,
} from './rules/fhir-consent.ts';

/** Consents of patients, which decide whether sources are asked about them. */
export const consentsFeature = {
  open: ({ store }: Pick<Platform, 'store'>): OpenFeature => ({
    recoveries: [
      itemRecovery({
        name: 'consents whose period has begun or ended',
        find: (limit) => store.asSystem((tx) => findPassedConsents(tx, limit)),
        async heal({ accountId, id }) {
          await store.asAccount(accountId, (tx) => markReleased(tx, id));
          return true;
        },
      }),
    ],
    drain: async () => undefined,
  }),
  routes: ({ operations }: GatewayScopes) => addConsentRoutes(operations),
} satisfies Feature;

/** Consents of patients (docs/interface.md, "Consents"). */
function addConsentRoutes(operations: Operations): void {
  const knownPatient = async (tx: AccountTx, id: string) =>
    orNotFound('Patient', await findPatient(tx, id));

  operations.write('recordConsent', async (tx, { params, body, caller }) => {
    const patient = await knownPatient(tx, params.id);
    const named = body.patient?.reference;
    if (named !== undefined && named.toLowerCase() !== `patient/${patient.id}`)
      throw new InvalidRequestError([
        {
          path: 'patient.reference',
          message: `expected Patient/${patient.id}, as in the path`,
        },
      ]);
    const decision = decisionOf(body);
    const { periodStart, periodEnd } = decision;
    if (periodStart !== null && periodEnd !== null && periodEnd <= periodStart)
      throw new InvalidRequestError([
        { path: 'provision.period.end', message: 'must be after the start' },
      ]);
    const consent = await insertConsent(tx, patient.id, {
      decision,
      stated: statedOf(body),
      actor: caller.actor,
    });
    return created(serializeConsent(consent), {
      patientId: patient.id,
      targetId: consent.id,
    });
  });

  operations.read('listConsents', async (tx, { params }) => {
    const patient = await knownPatient(tx, params.id);
    return ok({
      consents: (await listConsents(tx, patient.id)).map(serializeConsent),
    });
  });

  operations.write('endConsent', async (tx, { params, caller }) => {
    const patient = await knownPatient(tx, params.id);
    const consent = orNotFound(
      'Consent',
      await findConsent(tx, patient.id, params.consentId),
    );
    if (consent.resource === null)
      throw new ConflictError(
        `This consent was made by hieOptOut; end it with PUT /medical/v1/patient/${patient.id}/hie-opt-out?hieOptOut=false`,
      );
    await endConsent(tx, consent.id, caller.actor);
    const ended = orNotFound(
      'Consent',
      await findConsent(tx, patient.id, consent.id),
    );
    return ok(serializeConsent(ended), {
      patientId: patient.id,
      targetId: consent.id,
    });
  });
}
