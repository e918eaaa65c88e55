import type { facilityEndpoints } from '../../../../src/contract/facilities.ts';
import {
  badBody,
  NO_ID,
  type OperationCases,
  type Refused,
} from '../operation-cases.ts';

const ADDRESS = {
  addressLine1: '1 Main',
  city: 'Boston',
  state: 'MA',
  zip: '02108',
};

const RULES: Refused[] = [
  badBody({ name: '' }, 'name', 'name is required'),
  badBody({ name: 5 }, 'name', 'expected string, received number'),
  badBody({ npi: '1234567890' }, 'npi', 'check digit'),
  badBody({ npi: '123456789' }, 'npi', 'has 9 digits'),
  badBody({ active: 'yes' }, 'active', 'true or false'),
  badBody({ address: undefined }, 'address', 'is required'),
  badBody(
    { address: { ...ADDRESS, zip: '2108' } },
    'address.zip',
    'expected 5 digits or ZIP+4',
  ),
];

export const facilityCases: Record<
  keyof typeof facilityEndpoints,
  OperationCases
> = {
  listFacilities: { good: () => ({}) },
  createFacility: {
    good: ({ npi }) => ({
      body: { name: 'New', npi: npi(), tin: '04-1234567', address: ADDRESS },
    }),
    refused: [
      ...RULES,
      badBody({ npi: undefined }, 'npi', 'npi is required'),
      badBody({ npi: '1234567893' }, 'npi', 'another facility has the NPI'),
    ],
  },
  getFacility: {
    good: async ({ make }) => ({ params: { id: await make.facility() } }),
  },
  updateFacility: {
    good: async ({ make }) => ({
      params: { id: await make.facility() },
      headers: { 'if-match': 'v1' },
      body: { name: 'Renamed', active: false, address: ADDRESS, eTag: 'v1' },
    }),
    refused: [
      ...RULES,
      badBody({ npi: '1234567893' }, 'npi', 'cannot be changed'),
    ],
  },
  deleteFacility: {
    good: async ({ make }) => ({ params: { id: await make.facility() } }),
    more: [
      {
        what: 'the eTag that is true, in the body',
        status: 204,
        send: async ({ make }) => ({
          params: { id: await make.facility() },
          body: { eTag: 'v1' },
        }),
      },
    ],
    refused: [
      {
        what: 'a facility with patients',
        status: 400,
        send: async ({ make, account }) => {
          await make.patient();
          return { params: { id: account.facilityId } };
        },
        path: '',
        message: 'move them to another facility',
      },
      {
        what: 'a facility for which a bulk create is under way',
        status: 423,
        send: async ({ make }) => {
          const id = await make.facility();
          await make.call('POST', `patient/bulk?facilityId=${id}`);
          return { params: { id } };
        },
        message: 'bulk create for this facility is in progress',
      },
    ],
  },
  getPatientFacilities: {
    good: async ({ make }) => ({ params: { id: await make.patient() } }),
  },
  setPatientFacilities: {
    good: async ({ make, account }) => ({
      params: { id: await make.patient() },
      headers: { 'if-match': '"v1"' },
      body: {
        facilityIds: [account.facilityId, await make.facility()],
        eTag: 'v1',
      },
    }),
    refused: [
      badBody({ facilityIds: undefined }, 'facilityIds', 'is required'),
      badBody({ facilityIds: [] }, 'facilityIds', 'at least one facility'),
      badBody({ facilityIds: ['x'] }, 'facilityIds[0]', 'expected a UUID'),
      badBody(
        { facilityIds: [NO_ID] },
        'facilityIds[0]',
        'there is no facility',
      ),
    ],
  },
};
