import { z } from 'zod';
import {
  boundedList,
  ETAG_LENGTH_MAX,
  NOT_BLANK,
  notTenDigits,
  PATIENT_LISTS_MAX,
  preprocessRequired,
  requiredMembers,
  TEXT_LENGTH_MAX,
  unknownOf,
} from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import {
  networkQueryRequestSchema,
  networkQueryStatusSchema,
} from './network-query.ts';
import { eTagBody, ifMatch, pageMetaSchema, pageQuery } from './paging.ts';
import {
  component,
  dobSchema,
  idSchema,
  namesSchema,
  usStateSchema,
  zipSchema,
} from './primitives.ts';

export const genderSchema = z.enum(['M', 'F', 'O', 'U'], {
  error: 'expected M, F, O (known, neither M nor F) or U (unknown)',
});
export type Gender = z.infer<typeof genderSchema>;

const requiredText = (what: string) =>
  z
    .string()
    .trim()
    .min(1, { error: `${what} is required` })
    .max(TEXT_LENGTH_MAX)
    .meta(NOT_BLANK);

export const addressSchema = component('Address', {
  addressLine1: requiredText('addressLine1'),
  addressLine2: z.string().trim().max(200).optional(),
  city: requiredText('city'),
  state: usStateSchema,
  zip: zipSchema,
  country: z
    .string()
    .max(20, { abort: true })
    .trim()
    .optional()
    .transform((value) => (value ? value.toUpperCase() : 'USA'))
    .refine((value) => value === 'USA' || value === 'US', {
      error: 'only USA is supported',
    })
    .transform(() => 'USA')
    .meta({ pattern: '^\\s*([Uu][Ss][Aa]?)?\\s*$' }),
});
export type Address = z.output<typeof addressSchema>;

/**
 * Address as stored. It is not validated again, because the rules may have
 * become stricter since.
 */
export const storedAddressSchema = component('StoredAddress', {
  addressLine1: z.string(),
  addressLine2: z.string().optional(),
  city: z.string(),
  state: z.string(),
  zip: z.string(),
  country: z.string(),
});

export const phoneSchema = z
  .string()
  .max(40, { abort: true })
  .refine((value) => /^\d{10}$/.test(value), {
    error: ({ input }) => notTenDigits(input),
  })
  .meta({ pattern: '^[0-9]{10}$' });

/**
 * Whether the local part of an e-mail address is a phone number: it begins with
 * `tel:` or a plus, or has ten digits, with or without separators. Shorter and
 * longer numbers may be mailbox names.
 */
function isPhoneNumber(localPart: string): boolean {
  if (/^(tel:|\+[\d.-]+$)/i.test(localPart)) return true;
  return (
    /^[\d.-]+$/.test(localPart) &&
    /^1?\d{10}$/.test(localPart.replaceAll(/[.-]/g, ''))
  );
}

/**
 * A permissive e-mail address: rejects a phone number before the @, and
 * `mailto:` (docs/interface.md, Contact).
 */
export const emailSchema = z
  .string()
  .max(254, { abort: true })
  .trim()
  .refine((value) => /^[^\s@,;<>()[\]\\"]+@[^\s@,;<>()[\]\\"]+$/u.test(value), {
    error: 'expected an e-mail address with one @, a local part and a domain',
  })
  .refine((value) => !/^mailto:/i.test(value), {
    error: 'expected an e-mail address without "mailto:"',
  })
  .refine((value) => !isPhoneNumber(value.slice(0, value.indexOf('@'))), {
    error:
      'the part of an e-mail address before the @ must not be a phone number',
  })
  .refine(
    (value) =>
      /^[\p{L}\p{N}]([\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u.test(
        value.slice(value.indexOf('@') + 1),
      ),
    {
      error: 'the domain of the e-mail address is not valid',
    },
  )
  .meta({
    pattern: '^\\s*[^\\s@,;<>()\\[\\]\\\\"]+@[^\\s@,;<>()\\[\\]\\\\"]+\\s*$',
    not: {
      pattern:
        '^\\s*([Mm][Aa][Ii][Ll][Tt][Oo]:|[Tt][Ee][Ll]:|\\+[0-9.-]+@|(1[.-]*)?([0-9][.-]*){10}@)',
    },
  });

export const contactSchema = z
  .object({ phone: phoneSchema.optional(), email: emailSchema.optional() })
  .refine((value) => value.phone !== undefined || value.email !== undefined, {
    error: 'at least one of phone and email is required',
  })
  .meta({
    id: 'Contact',
    anyOf: [requiredMembers('phone'), requiredMembers('email')],
  });

export type Contact = z.output<typeof contactSchema>;

const period = z
  .object({ start: z.iso.date().optional(), end: z.iso.date().optional() })
  .meta({ id: 'Period' });

export const personalIdentifierSchema = z
  .discriminatedUnion(
    'type',
    [
      z.object({
        type: z.literal('driversLicense'),
        value: requiredText('value'),
        state: usStateSchema,
        period: period.optional(),
        assigner: z.string().max(TEXT_LENGTH_MAX).optional(),
      }),
      z.object({
        type: z.literal('ssn'),
        value: z
          .string()
          .max(40, { abort: true })
          .refine((value) => /^\d{9}$/.test(value), {
            error: 'an SSN has exactly 9 digits without separators',
          })
          .meta({ pattern: '^[0-9]{9}$' }),
        state: z.never({ error: 'must not be set for an SSN' }).optional(),
        period: period.optional(),
        assigner: z.string().max(TEXT_LENGTH_MAX).optional(),
      }),
    ],
    { error: 'type must be driversLicense or ssn' },
  )
  .meta({ id: 'PersonalIdentifier' });
const storedPersonalIdentifierSchema = z.object({
  type: z.string(),
  value: z.string(),
  state: z.string().optional(),
  period: period.optional(),
  assigner: z.string().optional(),
});

/**
 * Allowed keys of additionalIdentifiers (docs/interface.md, Patient
 * (response)).
 */
export const EXTERNAL_SYSTEMS = [
  'athenahealth',
  'elation',
  'canvas',
  'healthie',
  'eclinicalworks',
  'salesforce',
  'practicefusion',
  'quest',
  'healthix',
] as const;
type ExternalSystem = (typeof EXTERNAL_SYSTEMS)[number];
const storedAdditionalIdentifiersSchema = z.partialRecord(
  z.enum(EXTERNAL_SYSTEMS),
  z.array(z.string()),
);

const idsAtSystem = boundedList(
  z.array(
    z
      .string()
      .trim()
      .min(1, { error: 'an id must not be empty' })
      .max(TEXT_LENGTH_MAX)
      .meta(NOT_BLANK),
  ),
  PATIENT_LISTS_MAX.additionalIdentifiers,
).optional();

/** The ids that other systems have for the patient. */
export const additionalIdentifiersSchema = z
  .strictObject(
    Object.fromEntries(
      EXTERNAL_SYSTEMS.map((system) => [system, idsAtSystem]),
    ) as Record<ExternalSystem, typeof idsAtSystem>,
    { error: unknownOf('system', EXTERNAL_SYSTEMS) },
  )
  .meta({ id: 'AdditionalIdentifiers' });

/** A list of at least `minimum` entries; a single object is accepted too. */
const oneOrMore = <T extends z.ZodType>(
  item: T,
  minimum: number,
  name: 'address' | 'contact',
) =>
  preprocessRequired(
    (value: unknown) =>
      value !== null && typeof value === 'object' && !Array.isArray(value)
        ? [value]
        : value,
    boundedList(
      z
        .array(item, {
          error: ({ input }) =>
            input === undefined
              ? `${name} is required`
              : `${name} must be a list or a single object`,
        })
        .min(minimum, { error: `at least ${minimum} ${name} is required` }),
      PATIENT_LISTS_MAX[name],
    ),
  ).meta({
    description: 'A list. A single object is accepted as a list of one.',
  });

const externalIdSchema = z.string().trim().min(1).max(200).meta(NOT_BLANK);

/**
 * The body of E4 without `networkQuery` and `cohorts`; also the basis of the
 * body of "update patient".
 */
export const patientDemographicsSchema = z.object({
  firstName: namesSchema,
  lastName: namesSchema,
  dob: dobSchema,
  genderAtBirth: genderSchema,
  personalIdentifiers: boundedList(
    z.array(personalIdentifierSchema),
    PATIENT_LISTS_MAX.personalIdentifiers,
  ).optional(),
  address: oneOrMore(addressSchema, 1, 'address'),
  contact: oneOrMore(contactSchema, 0, 'contact').optional(),
  externalId: externalIdSchema.optional(),
  additionalIdentifiers: additionalIdentifiersSchema.optional(),
  status: z
    .object({
      hieOptOut: z.boolean().optional(),
      treatmentRelationship: z.boolean().optional(),
    })
    .optional(),
});
export type PatientDemographics = z.output<typeof patientDemographicsSchema>;

/** E4 request body. */
export const createPatientBodySchema = patientDemographicsSchema
  .extend({
    cohorts: boundedList(z.array(idSchema), 100).optional(),
    networkQuery: networkQueryRequestSchema.optional(),
  })
  .meta({ id: 'CreatePatient' });
export type CreatePatientBody = z.output<typeof createPatientBodySchema>;
export type CreatePatientInput = z.input<typeof createPatientBodySchema>;

/**
 * Body of "match patient": the body of "create patient". Members that do not
 * identify a person are ignored.
 */
export const matchPatientBodySchema = patientDemographicsSchema.meta({
  id: 'MatchPatient',
});

/**
 * Body of "update patient" (PUT), which replaces. The `eTag` here, or the one
 * in `If-Match`, must be current.
 */
export const updatePatientBodySchema = patientDemographicsSchema
  .extend({
    eTag: z.string().max(ETAG_LENGTH_MAX).optional(),
    externalIds: boundedList(
      z.array(externalIdSchema),
      PATIENT_LISTS_MAX.externalIds,
    )
      .optional()
      .describe(
        'All ids that shall find the patient. Without it, the known ones stay.',
      ),
    // If ignored, the caller would believe it had been applied.
    // `networkQuery` is ignored because responses contain it.
    cohorts: z
      .never({
        error: 'cannot be set here; use POST /medical/v1/patient/{id}/cohort',
      })
      .optional(),
  })
  .meta({ id: 'UpdatePatient' });
export type UpdatePatientBody = z.output<typeof updatePatientBodySchema>;

const responseNames = z.union([z.array(z.string()), z.string()]).meta({
  description:
    'A list of names; in the dialect "published", one string separated by spaces.',
});

/** Patient (response). */
export const patientSchema = component('Patient', {
  id: idSchema,
  eTag: z.string().optional(),
  externalId: z.string().optional(),
  externalIds: z
    .array(z.string())
    .describe(
      'Every external id that finds the patient: `externalId` first, then those that it replaced.',
    ),
  additionalIdentifiers: storedAdditionalIdentifiersSchema,
  additionalIds: storedAdditionalIdentifiersSchema,
  firstName: responseNames,
  lastName: responseNames,
  dob: z.string(),
  genderAtBirth: genderSchema,
  personalIdentifiers: z.array(storedPersonalIdentifierSchema),
  address: z.array(storedAddressSchema),
  contact: z.array(
    z.object({ phone: z.string().optional(), email: z.string().optional() }),
  ),
  facilityIds: z.array(z.string()),
  status: z.object({
    hieOptOut: z.boolean(),
    treatmentRelationship: z.boolean(),
  }),
  createdAt: z.string().optional(),
  networkQuery: networkQueryStatusSchema.optional(),
  replaced: z
    .object({
      externalId: z.string().optional(),
      hieOptOut: z.boolean().optional(),
      treatmentRelationship: z.boolean().optional(),
      primaryAddress: storedAddressSchema.optional(),
    })
    .optional()
    .describe(
      'In the answer to a create only: the former values of what this request replaced in the patient whom it matched.',
    ),
  possibleDuplicates: z
    .array(
      z.object({
        id: idSchema,
        patientId: idSchema,
        grade: z.enum(['certain', 'probable', 'possible']),
        agrees: z.array(z.string()),
        contradicts: z.array(z.string()),
      }),
    )
    .optional()
    .describe(
      'In the answer to a create only: other patients who may be this person, at most ten, with what is the same and what contradicts. A person decides (Possible duplicates).',
    ),
});
export type PatientResponse = z.output<typeof patientSchema>;

/**
 * Columns by which the list of patients can be sorted; without `sort`, newest
 * first.
 */
export const PATIENT_SORT = ['createdAt', 'id'] as const;

const flag = (name: string) =>
  z
    .enum(['true', 'false'], { error: `${name} must be true or false` })
    .meta({ type: 'boolean', enum: undefined })
    .transform((value) => value === 'true');

/**
 * Each word becomes a regular expression; PostgreSQL caches only a limited
 * number of compiled ones.
 */
const WORDS_MAX = 10;
const searchWords = z
  .string()
  .max(200, { abort: true })
  .refine((text) => text.trim().split(/\s+/u).length <= WORDS_MAX, {
    error: `must have at most ${WORDS_MAX} words`,
  });

export const patientEndpoints = {
  createPatient: endpoint(
    'POST /medical/v1/patient',
    {
      tag: 'patient',
      reference: 'E4',
      summary: 'Create patient',
      description:
        'Returns 201 for a new patient. Returns 200 if the demographics match an existing patient, which is then updated.',
    },
    {
      query: z.object({ facilityId: idSchema }),
      body: createPatientBodySchema,
      responses: { 201: patientSchema, 200: patientSchema },
      errors: [404],
    },
  ),
  getPatient: endpoint(
    'GET /medical/v1/patient/:id',
    {
      tag: 'patient',
      reference: 'Operations around E1–E14',
      summary: 'Get patient',
    },
    patientSchema,
  ),
  updatePatient: endpoint(
    'PUT /medical/v1/patient/:id',
    {
      tag: 'patient',
      reference: 'Operations around E1–E14',
      summary: 'Update patient',
      description:
        'Replaces the demographics. The first address is the primary address.',
    },
    patientSchema,
    {
      query: z.object({ facilityId: idSchema.optional() }),
      headers: ifMatch,
      body: updatePatientBodySchema,
      errors: [409],
    },
  ),
  deletePatient: endpoint(
    'DELETE /medical/v1/patient/:id',
    {
      tag: 'patient',
      reference: 'Operations around E1–E14',
      summary: 'Delete patient',
      description:
        'Permanently deletes the patient and all collected data. Operations in progress for the patient are cancelled, and no further webhook about the patient is sent. Audit entries are kept. A patient under legal hold is not deleted (409).',
    },
    null,
    {
      headers: ifMatch,
      body: eTagBody,
      errors: [409],
    },
  ),
  listPatients: endpoint(
    'GET /medical/v1/patient',
    {
      tag: 'patient',
      reference: 'Operations around E1–E14',
      summary: 'List patients',
    },
    {
      query: pageQuery(PATIENT_SORT, {
        facilityId: idSchema.optional(),
        externalId: externalIdSchema.optional(),
        filters: searchWords.optional().meta({
          description:
            'Words, all of which must occur in the name, date of birth, external id, identifiers, contacts or addresses; case-insensitive.',
          example: 'sample 02108',
        }),
      }),
      responses: {
        200: z.object({
          patients: z.array(patientSchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  matchPatient: endpoint(
    'POST /medical/v1/patient/match',
    {
      tag: 'patient',
      reference: 'Operations around E1–E14',
      summary: 'Match patient',
      description:
        'Finds the patient that "Create patient" would match: same names, date of birth, gender and one zip in common. Creates and changes nothing. 404 if there is no match.',
    },
    patientSchema,
    {
      scope: 'read',
      body: matchPatientBodySchema,
      errors: [404],
    },
  ),
  getPatientByExternalId: endpoint(
    'GET /medical/v1/patient/external-id',
    {
      tag: 'patient',
      reference: 'Operations around E1–E14',
      summary: 'Get the newest patient with an external id',
    },
    patientSchema,
    {
      query: z.object({
        externalId: z
          .string()
          .trim()
          .min(1, { error: 'externalId is required' })
          .max(200)
          .meta(NOT_BLANK),
      }),
      errors: [404],
    },
  ),
  setHieOptOut: endpoint(
    'PUT /medical/v1/patient/:id/hie-opt-out',
    {
      tag: 'patient',
      reference: 'Operations around E1–E14',
      summary: 'Opt a patient out of the networks, or back in',
    },
    {
      query: z.object({ hieOptOut: flag('hieOptOut') }),
      headers: ifMatch,
      body: eTagBody,
      responses: {
        200: z.object({
          id: idSchema,
          hieOptOut: z.boolean(),
          message: z.string(),
        }),
      },
    },
  ),
  setTreatmentRelationship: endpoint(
    'PUT /medical/v1/patient/:id/treatment-relationship',
    {
      tag: 'patient',
      reference: 'Operations around E1–E14',
      summary: 'Set whether there is a treatment relationship',
      description:
        '`false` removes the patient from every cohort whose `purposeOfUse` is `treatment`.',
    },
    {
      query: z.object({ treatmentRelationship: flag('treatmentRelationship') }),
      headers: ifMatch,
      body: eTagBody,
      responses: {
        200: z.object({
          id: idSchema,
          treatmentRelationship: z.boolean(),
          message: z.string(),
        }),
      },
    },
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const patientExamples = {
  createPatient: {
    query: { facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403' },
    body: {
      firstName: 'Jane Marie',
      lastName: 'Sample',
      dob: '1984-03-09',
      genderAtBirth: 'F',
      address: [
        {
          addressLine1: '12 Beacon Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
        },
      ],
      personalIdentifiers: [
        { type: 'driversLicense', state: 'MA', value: 'S99000000' },
      ],
      contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
      externalId: 'chart-20481',
      additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
      networkQuery: {
        sources: {
          hie: { enabled: true },
          pharmacy: { enabled: true, realtime: false },
          lab: { enabled: true },
        },
        metadata: { visit: '2026-11-21' },
      },
    },
    answer: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      eTag: 'v1',
      externalId: 'chart-20481',
      externalIds: ['chart-20481'],
      additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
      additionalIds: { athenahealth: ['a-195900.E-10447'] },
      firstName: ['Jane Marie'],
      lastName: ['Sample'],
      dob: '1984-03-09',
      genderAtBirth: 'F',
      personalIdentifiers: [
        { type: 'driversLicense', state: 'MA', value: 'S99000000' },
      ],
      address: [
        {
          addressLine1: '12 Beacon Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      ],
      contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
      facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'],
      status: { hieOptOut: false, treatmentRelationship: true },
      createdAt: '2026-11-21T15:04:05.000Z',
    },
  },

  getPatient: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      eTag: 'v1',
      externalId: 'chart-20481',
      externalIds: ['chart-20481'],
      additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
      additionalIds: { athenahealth: ['a-195900.E-10447'] },
      firstName: ['Jane Marie'],
      lastName: ['Sample'],
      dob: '1984-03-09',
      genderAtBirth: 'F',
      personalIdentifiers: [
        { type: 'driversLicense', state: 'MA', value: 'S99000000' },
      ],
      address: [
        {
          addressLine1: '12 Beacon Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      ],
      contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
      facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'],
      status: { hieOptOut: false, treatmentRelationship: true },
      createdAt: '2026-11-21T15:04:05.000Z',
    },
  },

  updatePatient: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: {
      firstName: 'Jane Marie',
      lastName: 'Sample',
      dob: '1984-03-09',
      genderAtBirth: 'F',
      address: [
        {
          addressLine1: '12 Beacon Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
        },
      ],
      personalIdentifiers: [
        { type: 'driversLicense', state: 'MA', value: 'S99000000' },
      ],
      contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
      externalId: 'chart-20481',
      additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
    },
    answer: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      eTag: 'v2',
      externalId: 'chart-20481',
      externalIds: ['chart-20481'],
      additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
      additionalIds: { athenahealth: ['a-195900.E-10447'] },
      firstName: ['Jane Marie'],
      lastName: ['Sample'],
      dob: '1984-03-09',
      genderAtBirth: 'F',
      personalIdentifiers: [
        { type: 'driversLicense', state: 'MA', value: 'S99000000' },
      ],
      address: [
        {
          addressLine1: '12 Beacon Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      ],
      contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
      facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'],
      status: { hieOptOut: false, treatmentRelationship: true },
      createdAt: '2026-11-21T15:04:05.000Z',
    },
  },

  deletePatient: { params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' } },

  listPatients: {
    query: { facilityId: '01923e9b-5f02-7d1b-8c34-92a1e7b6d403', count: 50 },
    answer: {
      patients: [
        {
          id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          eTag: 'v1',
          externalId: 'chart-20481',
          externalIds: ['chart-20481'],
          additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
          additionalIds: { athenahealth: ['a-195900.E-10447'] },
          firstName: ['Jane Marie'],
          lastName: ['Sample'],
          dob: '1984-03-09',
          genderAtBirth: 'F',
          personalIdentifiers: [
            { type: 'driversLicense', state: 'MA', value: 'S99000000' },
          ],
          address: [
            {
              addressLine1: '12 Beacon Street',
              city: 'Boston',
              state: 'MA',
              zip: '02108',
              country: 'USA',
            },
          ],
          contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
          facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'],
          status: { hieOptOut: false, treatmentRelationship: true },
          createdAt: '2026-11-21T15:04:05.000Z',
        },
      ],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },

  matchPatient: {
    body: {
      firstName: 'Jane Marie',
      lastName: 'Sample',
      dob: '1984-03-09',
      genderAtBirth: 'F',
      address: [
        {
          addressLine1: '12 Beacon Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
        },
      ],
    },
    answer: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      eTag: 'v1',
      externalId: 'chart-20481',
      externalIds: ['chart-20481'],
      additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
      additionalIds: { athenahealth: ['a-195900.E-10447'] },
      firstName: ['Jane Marie'],
      lastName: ['Sample'],
      dob: '1984-03-09',
      genderAtBirth: 'F',
      personalIdentifiers: [
        { type: 'driversLicense', state: 'MA', value: 'S99000000' },
      ],
      address: [
        {
          addressLine1: '12 Beacon Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      ],
      contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
      facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'],
      status: { hieOptOut: false, treatmentRelationship: true },
      createdAt: '2026-11-21T15:04:05.000Z',
    },
  },

  getPatientByExternalId: {
    query: { externalId: 'chart-20481' },
    answer: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      eTag: 'v1',
      externalId: 'chart-20481',
      externalIds: ['chart-20481'],
      additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
      additionalIds: { athenahealth: ['a-195900.E-10447'] },
      firstName: ['Jane Marie'],
      lastName: ['Sample'],
      dob: '1984-03-09',
      genderAtBirth: 'F',
      personalIdentifiers: [
        { type: 'driversLicense', state: 'MA', value: 'S99000000' },
      ],
      address: [
        {
          addressLine1: '12 Beacon Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      ],
      contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
      facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'],
      status: { hieOptOut: false, treatmentRelationship: true },
      createdAt: '2026-11-21T15:04:05.000Z',
    },
  },

  setHieOptOut: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    query: { hieOptOut: true },
    answer: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      hieOptOut: true,
      message:
        'The patient is opted out; the hie source and document queries exclude the patient',
    },
  },

  setTreatmentRelationship: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    query: { treatmentRelationship: true },
    answer: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      treatmentRelationship: true,
      message:
        'There is a treatment relationship; the patient can be added to treatment cohorts',
    },
  },
} satisfies ExamplesOf<typeof patientEndpoints>;
