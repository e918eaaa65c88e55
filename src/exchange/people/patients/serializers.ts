import type { NetworkQueryStatus } from '../../../contract/network-query.ts';
import type { PatientResponse } from '../../../contract/patients.ts';
import type { Dialect } from '../../platform/account.ts';
import { eTagOf } from '../../platform/http/etag.ts';
import type { StoredPatient } from './patient-store.ts';
import { externalIdsOf } from './rules/patient-content.ts';

/**
 * The patient in the form of all responses, in the account's dialect
 * (docs/interface.md, Dialects).
 */
export function serializePatient(
  patient: StoredPatient,
  dialect: Dialect,
  networkQuery?: NetworkQueryStatus,
): PatientResponse {
  const names = (list: string[]) =>
    dialect === 'published' ? list.join(' ') : list;
  return {
    id: patient.id,
    eTag: eTagOf(patient),
    externalId: patient.externalId ?? undefined,
    externalIds: externalIdsOf(patient),
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
    status: {
      hieOptOut: patient.hieOptOut,
      treatmentRelationship: patient.treatmentRelationship,
    },
    createdAt: patient.createdAt.toISOString(),
    networkQuery,
  };
}
