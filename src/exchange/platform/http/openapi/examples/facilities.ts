import type { facilityEndpoints } from '../../../../../contract/facilities-endpoints.ts';
import { IDS, type OperationExamples } from './example.ts';

const address = { addressLine1: '220 Clarendon Street', city: 'Boston', state: 'MA', zip: '02116' };
const facilityBody = {
  name: 'Harborview Family Medicine',
  npi: '1234567893',
  tin: '042103580',
  address,
};
const facility = {
  id: IDS.facility,
  eTag: 'v1',
  oid: '2.16.840.1.113883.3.9621.5.1',
  ...facilityBody,
  active: true,
  address: { ...address, country: 'USA' },
};
const id = IDS.facility;

export const facilityExamples: OperationExamples<keyof typeof facilityEndpoints> = {
  listFacilities: { answer: { facilities: [facility] } },
  createFacility: { body: facilityBody, answer: facility },
  getFacility: { params: { id }, answer: facility },
  updateFacility: {
    params: { id },
    body: { ...facilityBody, name: 'Harborview Primary Care' },
    answer: { ...facility, eTag: 'v2', name: 'Harborview Primary Care' },
  },
  deleteFacility: { params: { id } },
  getPatientFacilities: { params: { id: IDS.patient }, answer: { facilities: [facility] } },
  setPatientFacilities: {
    params: { id: IDS.patient },
    body: { facilityIds: [id] },
    answer: { facilities: [facility] },
  },
};
