import { z } from 'zod';
import {
  boundedList,
  ETAG_LENGTH_MAX,
  NOT_BLANK,
  notTenDigits,
  PATIENT_LISTS_MAX,
  quoted,
} from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { eTagBody, ifMatch } from './paging.ts';
import { addressSchema, storedAddressSchema } from './patients.ts';
import { component, idSchema, isNpi } from './primitives.ts';

/** docs/interface.md, Facility. */
export const facilitySchema = component('Facility', {
  id: idSchema,
  eTag: z.string().optional(),
  oid: z.string(),
  name: z.string(),
  npi: z.string(),
  tin: z.string().optional(),
  active: z.boolean(),
  address: storedAddressSchema,
});
export type FacilityResponse = z.output<typeof facilitySchema>;

export const npiSchema = z
  .string({ error: 'npi is required and must have 10 digits' })
  .max(40, { abort: true, error: 'npi must have exactly 10 digits' })
  .trim()
  .refine(isNpi, {
    error: ({ input }) =>
      /^\d{10}$/.test(String(input).trim())
        ? `${quoted(input)} is not a valid National Provider Identifier: its check digit is wrong`
        : notTenDigits(input),
  })
  .meta({
    pattern: '^\\s*[0-9]{10}\\s*$',
    description:
      '10 digits. The last is the check digit (Luhn algorithm over the prefix 80840 and the first 9 digits).',
  });

/** Body of "create facility"; the service assigns the OID. */
export const createFacilityBodySchema = component('CreateFacility', {
  name: z
    .string()
    .trim()
    .min(1, { error: 'name is required' })
    .max(200, { error: 'name must have at most 200 characters' })
    .meta(NOT_BLANK),
  npi: npiSchema,
  tin: z.string().trim().min(1).max(50).meta(NOT_BLANK).nullish(),
  active: z.boolean({ error: 'active must be true or false' }).optional(),
  address: addressSchema,
});
export type CreateFacilityBody = z.output<typeof createFacilityBodySchema>;

/**
 * Body of "update facility" (PUT), which replaces. If `npi` is present, it must
 * be the current one.
 */
export const updateFacilityBodySchema = createFacilityBodySchema
  .extend({
    npi: npiSchema.optional(),
    eTag: z.string().max(ETAG_LENGTH_MAX).optional(),
  })
  .meta({ id: 'UpdateFacility' });
export type UpdateFacilityBody = z.output<typeof updateFacilityBodySchema>;

/** Body of "set the facilities of a patient": the complete list. */
export const patientFacilitiesBodySchema = component('PatientFacilities', {
  facilityIds: boundedList(
    z
      .array(idSchema, {
        error: 'facilityIds is required and must be a list of ids',
      })
      .min(1, { error: 'at least one facility is required' }),
    PATIENT_LISTS_MAX.facilityIds,
    `at most ${PATIENT_LISTS_MAX.facilityIds} facilities are allowed`,
  ),
  eTag: z
    .string()
    .max(ETAG_LENGTH_MAX)
    .optional()
    .describe("The patient's last known eTag; an alternative to `If-Match`."),
});

const facilities = z.object({ facilities: z.array(facilitySchema) });

export const facilityEndpoints = {
  listFacilities: endpoint(
    'GET /medical/v1/facility',
    {
      tag: 'facility',
      reference: 'E11',
      summary: 'List facilities',
    },
    facilities,
  ),
  createFacility: endpoint(
    'POST /medical/v1/facility',
    {
      tag: 'facility',
      reference: 'Operations around E1–E14',
      summary: 'Create facility',
      description:
        'The service assigns the OID. An NPI must be unique among the facilities of the account.',
    },
    {
      body: createFacilityBodySchema,
      responses: { 201: facilitySchema },
    },
  ),
  getFacility: endpoint(
    'GET /medical/v1/facility/:id',
    {
      tag: 'facility',
      reference: 'Operations around E1–E14',
      summary: 'Get facility',
    },
    facilitySchema,
  ),
  updateFacility: endpoint(
    'PUT /medical/v1/facility/:id',
    {
      tag: 'facility',
      reference: 'Operations around E1–E14',
      summary: 'Update facility',
      description: 'Replaces all writable members. The NPI cannot be changed.',
    },
    facilitySchema,
    {
      headers: ifMatch,
      body: updateFacilityBodySchema,
    },
  ),
  deleteFacility: endpoint(
    'DELETE /medical/v1/facility/:id',
    {
      tag: 'facility',
      reference: 'Operations around E1–E14',
      summary: 'Delete facility',
      description:
        'Fails with 400 if the facility has patients, and with 423 if a bulk create for it is in progress.',
    },
    null,
    {
      headers: ifMatch,
      body: eTagBody,
      errors: [423],
    },
  ),
  getPatientFacilities: endpoint(
    'GET /medical/v1/patient/:id/facility',
    {
      tag: 'facility',
      reference: 'Operations around E1–E14',
      summary: 'List the facilities of a patient',
    },
    facilities,
  ),
  setPatientFacilities: endpoint(
    'POST /medical/v1/patient/:id/facility',
    {
      tag: 'facility',
      reference: 'Operations around E1–E14',
      summary: 'Set the facilities of a patient',
      description: 'Replaces the list of facilities of the patient.',
    },
    facilities,
    {
      headers: ifMatch,
      body: patientFacilitiesBodySchema,
    },
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const facilityExamples = {
  listFacilities: {
    answer: {
      facilities: [
        {
          id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
          eTag: 'v1',
          oid: '2.16.840.1.113883.3.9621.5.1',
          name: 'Harborview Family Medicine',
          npi: '1234567893',
          tin: '042103580',
          address: {
            addressLine1: '220 Clarendon Street',
            city: 'Boston',
            state: 'MA',
            zip: '02116',
            country: 'USA',
          },
          active: true,
        },
      ],
    },
  },

  createFacility: {
    body: {
      name: 'Harborview Family Medicine',
      npi: '1234567893',
      tin: '042103580',
      address: {
        addressLine1: '220 Clarendon Street',
        city: 'Boston',
        state: 'MA',
        zip: '02116',
      },
    },
    answer: {
      id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      eTag: 'v1',
      oid: '2.16.840.1.113883.3.9621.5.1',
      name: 'Harborview Family Medicine',
      npi: '1234567893',
      tin: '042103580',
      address: {
        addressLine1: '220 Clarendon Street',
        city: 'Boston',
        state: 'MA',
        zip: '02116',
        country: 'USA',
      },
      active: true,
    },
  },

  getFacility: {
    params: { id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403' },
    answer: {
      id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      eTag: 'v1',
      oid: '2.16.840.1.113883.3.9621.5.1',
      name: 'Harborview Family Medicine',
      npi: '1234567893',
      tin: '042103580',
      address: {
        addressLine1: '220 Clarendon Street',
        city: 'Boston',
        state: 'MA',
        zip: '02116',
        country: 'USA',
      },
      active: true,
    },
  },

  updateFacility: {
    params: { id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403' },
    body: {
      name: 'Harborview Primary Care',
      npi: '1234567893',
      tin: '042103580',
      address: {
        addressLine1: '220 Clarendon Street',
        city: 'Boston',
        state: 'MA',
        zip: '02116',
      },
    },
    answer: {
      id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
      eTag: 'v2',
      oid: '2.16.840.1.113883.3.9621.5.1',
      name: 'Harborview Primary Care',
      npi: '1234567893',
      tin: '042103580',
      address: {
        addressLine1: '220 Clarendon Street',
        city: 'Boston',
        state: 'MA',
        zip: '02116',
        country: 'USA',
      },
      active: true,
    },
  },

  deleteFacility: { params: { id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403' } },

  getPatientFacilities: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      facilities: [
        {
          id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
          eTag: 'v1',
          oid: '2.16.840.1.113883.3.9621.5.1',
          name: 'Harborview Family Medicine',
          npi: '1234567893',
          tin: '042103580',
          address: {
            addressLine1: '220 Clarendon Street',
            city: 'Boston',
            state: 'MA',
            zip: '02116',
            country: 'USA',
          },
          active: true,
        },
      ],
    },
  },

  setPatientFacilities: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: { facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'] },
    answer: {
      facilities: [
        {
          id: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403',
          eTag: 'v1',
          oid: '2.16.840.1.113883.3.9621.5.1',
          name: 'Harborview Family Medicine',
          npi: '1234567893',
          tin: '042103580',
          address: {
            addressLine1: '220 Clarendon Street',
            city: 'Boston',
            state: 'MA',
            zip: '02116',
            country: 'USA',
          },
          active: true,
        },
      ],
    },
  },
} satisfies ExamplesOf<typeof facilityEndpoints>;
