import type { patientEndpoints } from '../../../../../contract/patients-endpoints.ts';
import { AT, IDS, ONE_ITEM, type OperationExamples } from './example.ts';
import { networkQueryBody } from './network-query.ts';

const demographics = {
  firstName: 'Jane Marie',
  lastName: 'Sample',
  dob: '1984-03-09',
  genderAtBirth: 'F',
  address: [{ addressLine1: '12 Beacon Street', city: 'Boston', state: 'MA', zip: '02108' }],
};

const createPatientBody = {
  ...demographics,
  personalIdentifiers: [{ type: 'driversLicense', state: 'MA', value: 'S99000000' }],
  contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
  externalId: 'chart-20481',
  additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
};

export const patient = {
  id: IDS.patient,
  eTag: 'v1',
  externalId: 'chart-20481',
  additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
  additionalIds: { athenahealth: ['a-195900.E-10447'] },
  firstName: ['Jane Marie'],
  lastName: ['Sample'],
  dob: '1984-03-09',
  genderAtBirth: 'F',
  personalIdentifiers: [{ type: 'driversLicense', state: 'MA', value: 'S99000000' }],
  address: [{ addressLine1: '12 Beacon Street', city: 'Boston', state: 'MA', zip: '02108', country: 'USA' }],
  contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
  facilityIds: [IDS.facility],
  status: { hieOptOut: false, treatmentRelationship: true },
  createdAt: AT,
};

const id = IDS.patient;

export const patientExamples: OperationExamples<keyof typeof patientEndpoints> = {
  createPatient: {
    query: { facilityId: IDS.facility },
    body: { ...createPatientBody, networkQuery: networkQueryBody },
    answer: patient,
  },
  getPatient: { params: { id }, answer: patient },
  updatePatient: { params: { id }, body: createPatientBody, answer: { ...patient, eTag: 'v2' } },
  deletePatient: { params: { id } },
  listPatients: {
    query: { facilityId: IDS.facility, count: 50 },
    answer: { patients: [patient], meta: ONE_ITEM },
  },
  matchPatient: { body: demographics, answer: patient },
  getPatientByExternalId: { query: { externalId: 'chart-20481' }, answer: patient },
  setHieOptOut: {
    params: { id },
    query: { hieOptOut: true },
    answer: {
      id,
      hieOptOut: true,
      message: 'The patient is opted out; the hie source and document queries exclude the patient',
    },
  },
  setTreatmentRelationship: {
    params: { id },
    query: { treatmentRelationship: true },
    answer: {
      id,
      treatmentRelationship: true,
      message: 'There is a treatment relationship; the patient can be added to treatment cohorts',
    },
  },
};
