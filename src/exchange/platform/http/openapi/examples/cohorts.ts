import type { cohortEndpoints } from '../../../../../contract/cohorts-endpoints.ts';
import { IDS, ONE_ITEM, type OperationExamples } from './example.ts';
import { patient } from './patients.ts';

const cohort = {
  id: IDS.cohort,
  eTag: 'v1',
  name: 'Diabetes, high risk',
  description: 'HbA1c above 9 in the last year',
  color: 'blue',
  purposeOfUse: 'treatment',
  settings: {
    monitoring: {
      hie: { enabled: false, frequency: 'monthly' },
      adt: { enabled: true },
      pharmacy: { notifications: false, schedule: { enabled: false, frequency: 'monthly' } },
      laboratory: { notifications: false },
    },
  },
  size: 1,
};

const id = IDS.cohort;

export const cohortExamples: OperationExamples<keyof typeof cohortEndpoints> = {
  addPatientToCohorts: {
    params: { id: IDS.patient },
    body: { cohortIds: [IDS.cohort] },
    answer: { cohorts: [cohort] },
  },
  listCohorts: { answer: { cohorts: [cohort] } },
  createCohort: {
    body: {
      name: cohort.name,
      description: cohort.description,
      color: 'blue',
      settings: { monitoring: { adt: { enabled: true } } },
    },
    answer: { ...cohort, size: 0 },
  },
  getCohort: { params: { id }, answer: cohort },
  updateCohort: {
    params: { id },
    body: {
      color: 'red',
      settings: { monitoring: { hie: { enabled: true, frequency: 'weekly' }, adt: { enabled: true } } },
    },
    answer: {
      ...cohort,
      eTag: 'v2',
      color: 'red',
      settings: {
        monitoring: { ...cohort.settings.monitoring, hie: { enabled: true, frequency: 'weekly' } },
      },
    },
  },
  deleteCohort: { params: { id } },
  listCohortPatients: {
    params: { id },
    query: { count: 100 },
    answer: { patients: [patient], meta: ONE_ITEM },
  },
  addPatientsToCohort: {
    params: { id },
    body: { patientIds: [IDS.patient] },
    answer: { message: '1 patient added to the cohort', cohort },
  },
  removePatientsFromCohort: {
    params: { id },
    body: { allPatients: true },
    answer: { message: '1 patient removed from the cohort', cohort: { ...cohort, size: 0 } },
  },
  getPatientCohorts: { params: { id: IDS.patient }, answer: { cohorts: [cohort] } },
};
