import type { consentEndpoints } from '../../../../../contract/consents-endpoints.ts';
import { AT, IDS, type OperationExamples } from './example.ts';

const body = {
  resourceType: 'Consent',
  status: 'active',
  scope: {
    coding: [{ system: 'http://terminology.hl7.org/CodeSystem/consentscope', code: 'patient-privacy' }],
  },
  category: [{ coding: [{ system: 'http://loinc.org', code: '59284-0' }] }],
  dateTime: '2026-11-21',
  performer: [{ reference: `Patient/${IDS.patient}` }],
  organization: [{ display: 'Example Clinic' }],
  sourceReference: { display: 'Form 12, scanned on 2026-11-21' },
  policy: [{ uri: 'https://clinic.example.org/privacy/3' }],
  provision: {
    type: 'deny',
    period: { start: '2026-11-21', end: '2027-11-20' },
    purpose: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason', code: 'TREAT' }],
    actor: [
      {
        role: {
          coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ParticipationType', code: 'CST' }],
        },
        reference: { identifier: { value: 'lab' } },
      },
    ],
  },
};
const consent = {
  ...body,
  id: IDS.consent,
  meta: { lastUpdated: AT },
  patient: { reference: `Patient/${IDS.patient}` },
};

export const consentExamples: OperationExamples<keyof typeof consentEndpoints> = {
  recordConsent: { params: { id: IDS.patient }, body, answer: consent },
  listConsents: { params: { id: IDS.patient }, answer: { consents: [consent] } },
  endConsent: {
    params: { id: IDS.patient, consentId: IDS.consent },
    answer: { ...consent, status: 'inactive' },
  },
};
