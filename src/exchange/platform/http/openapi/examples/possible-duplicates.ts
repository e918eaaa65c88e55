import type { possibleDuplicateEndpoints } from '../../../../../contract/possible-duplicates-endpoints.ts';
import { AT, IDS, ONE_ITEM, type OperationExamples } from './example.ts';
import { patient } from './patients.ts';

const possibleDuplicate = {
  id: IDS.possibleDuplicate,
  status: 'open',
  patientIds: [IDS.patient, IDS.otherPatient],
  grade: 'possible',
  score: 0.5,
  agrees: ['firstName', 'dob', 'genderAtBirth', 'zip', 'phone'],
  foundAt: AT,
};
const params = { id: IDS.possibleDuplicate };

export const possibleDuplicateExamples: OperationExamples<keyof typeof possibleDuplicateEndpoints> = {
  listPossibleDuplicates: {
    query: { status: 'open' },
    answer: { possibleDuplicates: [possibleDuplicate], meta: ONE_ITEM },
  },
  getPossibleDuplicate: {
    params,
    answer: {
      ...possibleDuplicate,
      patients: [patient, { ...patient, id: IDS.otherPatient, lastName: ['Samples'] }],
    },
  },
  acceptPossibleDuplicate: {
    params,
    answer: {
      ...possibleDuplicate,
      status: 'accepted',
      decidedAt: AT,
      message:
        'The two patients are marked as one person. Nothing was merged: both patients and their records stay separate',
    },
  },
  refusePossibleDuplicate: {
    params,
    answer: {
      ...possibleDuplicate,
      status: 'refused',
      decidedAt: AT,
      message: 'The two patients are marked as two people. The pair is not reported again',
    },
  },
};
