import type { z } from 'zod';
import type { CohortResponse } from '../../../contract/cohorts.ts';
import type { FacilityResponse } from '../../../contract/facilities.ts';
import type { NetworkQueryStatus, sourceStatusSchema } from '../../../contract/network-query.ts';
import type { PatientResponse } from '../../../contract/patients.ts';
import type { SettingsResponse } from '../../../contract/settings.ts';
import type { Dialect } from '../../accounts/account-store.ts';
import type { StoredCohort } from '../../cohorts/cohort-store.ts';
import type { StoredFacility } from '../../facilities/facility-store.ts';
import type { AttemptView, QueryView } from '../../network-query/query-store.ts';
import { lastAttempts } from '../../network-query/rules/query-status.ts';
import type { StoredPatient } from '../../patients/patient-store.ts';
import type { StoredDestination } from '../../webhooks/destination-store.ts';
import type { WebhookKeys } from '../outbox/webhook-key.ts';
import { eTagOf } from './etag.ts';

/**
 * The one serialiser: everything that leaves the exchange about a patient, cohort, facility, query or setting is
 * made here, and nowhere else is the account's dialect looked at (interface-decisions.md, "Strict by default,
 * compatible by account").
 */
export function serializePatient(
  patient: StoredPatient,
  dialect: Dialect,
  networkQuery?: NetworkQueryStatus,
): PatientResponse {
  const names = (list: string[]) => (dialect === 'published' ? list.join(' ') : list);
  return {
    id: patient.id,
    eTag: eTagOf(patient),
    externalId: patient.externalId ?? undefined,
    additionalIdentifiers: patient.additionalIdentifiers,
    additionalIds: patient.additionalIdentifiers,
    firstName: names(patient.firstNames),
    lastName: names(patient.lastNames),
    dob: patient.dob,
    genderAtBirth: patient.gender,
    personalIdentifiers: patient.personalIdentifiers,
    address: patient.addresses,
    contact: patient.contacts,
    facilityIds: patient.facilityIds,
    status: { hieOptOut: patient.hieOptOut, treatmentRelationship: patient.treatmentRelationship },
    createdAt: patient.createdAt.toISOString(),
    networkQuery,
  };
}

export function serializeCohort(cohort: StoredCohort): CohortResponse {
  const { id, name, description, color, purposeOfUse, settings, size } = cohort;
  return { id, eTag: eTagOf(cohort), name, description, color, purposeOfUse, settings, size };
}

export function serializeFacility(facility: StoredFacility): FacilityResponse {
  const { version: _version, tin, ...rest } = facility;
  return { ...rest, tin: tin ?? undefined, eTag: eTagOf(facility) };
}

/** A query as E2 and E4 answer it: what runs is `processing`. */
export const serializeStartedQuery = (query: QueryView, dialect: Dialect): NetworkQueryStatus =>
  queryAnswer(query, dialect, 'processing');

/** A query as E3 and the operations around it answer it: what runs is `in-progress`. */
export const serializeQueryStatus = (query: QueryView, dialect: Dialect): NetworkQueryStatus =>
  queryAnswer(query, dialect, dialect === 'published' ? 'processing' : 'in-progress');

type Running = 'processing' | 'in-progress';
type SourceStatus = z.output<typeof sourceStatusSchema>;

function queryAnswer(query: QueryView, dialect: Dialect, running: Running): NetworkQueryStatus {
  const attempts = dialect === 'published' ? lastAttempts(query.attempts) : query.attempts;
  return {
    requestId: query.requestId,
    patientId: query.patientId,
    startedAt: query.startedAt.toISOString(),
    status: query.status === 'running' ? running : query.status,
    sources: attempts.map((attempt) => ({
      type: attempt.source,
      status: sourceStatus(attempt, dialect, running),
      startedAt: attempt.startedAt.toISOString(),
      completedAt: attempt.completedAt?.toISOString(),
    })),
    ...(query.errors.length > 0 ? { errors: query.errors } : {}),
  };
}

/** With one entry per type, a source that is about to be tried again has not failed yet. */
function sourceStatus(attempt: AttemptView, dialect: Dialect, running: Running): SourceStatus {
  if (attempt.status === 'running') return running;
  return dialect === 'published' && attempt.willRetry ? running : attempt.status;
}

/** The key is shown only while there is a destination that uses it. */
export function serializeSettings(
  accountId: string,
  destination: StoredDestination | undefined,
  keys: Pick<WebhookKeys, 'open'>,
): SettingsResponse {
  const isSet = destination !== undefined && destination.url !== null;
  return {
    id: accountId,
    webhookUrl: isSet ? destination.url : null,
    webhookKey: isSet && destination.key !== null ? keys.open(destination.key) : null,
  };
}
