import type { ConsentResponse } from '../../../contract/consents.ts';
import type { StoredConsent } from './consent-store.ts';
import { toFhir } from './rules/fhir-consent.ts';

export const serializeConsent = (row: StoredConsent): ConsentResponse =>
  toFhir({
    ...{ id: row.id, patientId: row.patient_id, stated: row.resource },
    ...{ recordedAt: row.recorded_at, endedAt: row.ended_at },
  });
