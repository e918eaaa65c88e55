import { z } from 'zod';
import { boundedList, NOT_BLANK, requiredMembers } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { idSchema } from './primitives.ts';
import { SOURCE_TYPES } from './source-types.ts';

/**
 * Consents as FHIR R4 resources, as far as IHE's "Basic Consent" (PCF) and our
 * sources need them.
 */
const CONSENT_SCOPE = 'http://terminology.hl7.org/CodeSystem/consentscope';
/** JSON Schema fragment for the OpenAPI document. */
const PRIVACY_CODING = {
  required: ['code'],
  properties: {
    system: { const: CONSENT_SCOPE },
    code: { const: 'patient-privacy' },
  },
};
const text = (max: number) => z.string().trim().min(1).max(max).meta(NOT_BLANK);

/** FHIR's dateTime with at least a day; a day begins at midnight UTC. */
const dateTimeSchema = z
  .union([z.iso.datetime({ offset: true }).max(40), z.iso.date()], {
    error:
      'expected a day (2026-11-22), or a time with its offset (2026-11-22T10:00:00Z)',
  })
  .meta({
    description:
      'A day, or a time with its offset. A day begins at midnight UTC.',
  });

const reference = z
  .object({ reference: text(300).optional(), display: text(300).optional() })
  .refine(
    (value) => value.reference !== undefined || value.display !== undefined,
    {
      error: 'needs a reference or a display',
    },
  )
  .meta({ anyOf: [requiredMembers('reference'), requiredMembers('display')] });
const references = boundedList(z.array(reference).min(1), 5);
const coding = z.object({
  system: text(300).optional(),
  code: text(100),
  display: text(300).optional(),
});
const concept = z.object({
  coding: boundedList(z.array(coding).min(1), 10),
  text: text(300).optional(),
});

const unsupported = z
  .never({
    error: 'is not supported, so the consent cannot be applied as it is meant',
  })
  .optional();

const custodianSchema = z.strictObject({
  role: z.object({
    coding: boundedList(
      z
        .array(
          z.object({
            system: text(300).optional(),
            code: z.literal('CST', { error: 'expected CST' }),
          }),
        )
        .min(1),
      5,
    ),
  }),
  reference: z.object({
    identifier: z.object({
      system: text(300).optional(),
      value: z.enum(SOURCE_TYPES, {
        error: `expected a source: ${SOURCE_TYPES.join(', ')}`,
      }),
    }),
  }),
});

const provisionSchema = z
  .strictObject(
    {
      type: z.enum(['permit', 'deny'], { error: 'expected permit or deny' }),
      period: z
        .object({
          start: dateTimeSchema.optional(),
          end: dateTimeSchema.optional(),
        })
        .optional(),
      purpose: boundedList(
        z.array(
          z.object({
            system: text(300).optional(),
            code: z.enum(['TREAT', 'PATRQT'], {
              error: 'expected TREAT or PATRQT',
            }),
          }),
        ),
        2,
      )
        .optional()
        .describe(
          'TREAT: queries for treatment. PATRQT: individual access. Without: both.',
        ),
      actor: boundedList(z.array(custodianSchema), SOURCE_TYPES.length)
        .optional()
        .describe(
          'The sources it is about, as custodians (CST). Without: all.',
        ),
      securityLabel: boundedList(
        z
          .array(z.object({ system: text(300).optional(), code: text(100) }))
          .min(1),
        20,
      )
        .optional()
        .describe(
          'The labels of data that may, or may not, be handed out (R, ETH, 42CFRPart2, …). With them, the consent decides nothing about asking sources; neither purpose nor actor may be given.',
        ),
    },
    {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? 'supports type, period, purpose, actor and securityLabel only; another restriction could not be applied'
          : undefined,
    },
  )
  .refine(
    ({ securityLabel, purpose, actor }) =>
      (securityLabel && (purpose ?? actor)) === undefined,
    {
      path: ['securityLabel'],
      error:
        'cannot be combined with purpose or actor; record one consent for each',
    },
  );

const evidence = {
  sourceReference: reference.optional(),
  sourceAttachment: z
    .object({
      url: z.url().max(2_000),
      title: text(300).optional(),
      contentType: text(100).optional(),
    })
    .optional(),
};

/**
 * A FHIR Consent to record. Members that do not change its meaning, such as
 * `text`, are ignored.
 */
export const recordConsentBodySchema = z
  .object({
    resourceType: z.literal('Consent', { error: 'expected a FHIR Consent' }),
    status: z.literal('active', {
      error:
        'expected active; end a consent with the operation "End a consent"',
    }),
    scope: concept
      .refine(
        ({ coding }) =>
          coding.some(
            ({ system, code }) =>
              code === 'patient-privacy' &&
              (system ?? CONSENT_SCOPE) === CONSENT_SCOPE,
          ),
        { error: 'expected patient-privacy' },
      )
      .meta({
        allOf: [{ properties: { coding: { contains: PRIVACY_CODING } } }],
      }),
    category: boundedList(z.array(concept).min(1), 10),
    patient: reference.optional(),
    dateTime: dateTimeSchema,
    performer: references.describe(
      'Who agreed: the patient, a parent or a guardian.',
    ),
    organization: references.describe('Who asked for the consent.'),
    ...evidence,
    policy: boundedList(
      z.array(z.object({ uri: z.url().max(2_000) })).min(1),
      5,
    ),
    provision: provisionSchema,
    modifierExtension: unsupported,
  })
  .refine(
    (body) =>
      body.sourceReference !== undefined || body.sourceAttachment !== undefined,
    {
      path: ['sourceReference'],
      error: 'the evidence is required: sourceReference or sourceAttachment',
    },
  )
  .meta({
    id: 'RecordConsent',
    anyOf: [
      requiredMembers('sourceReference'),
      requiredMembers('sourceAttachment'),
    ],
  });
export type RecordConsentBody = z.output<typeof recordConsentBodySchema>;

/** A recorded FHIR Consent. */
export const consentSchema = z
  .looseObject({
    resourceType: z.literal('Consent'),
    id: idSchema,
    status: z
      .enum(['active', 'inactive'])
      .meta({ description: '`inactive`: it was ended.' }),
    meta: z.object({ lastUpdated: z.string() }),
  })
  .meta({ id: 'Consent' });
export type ConsentResponse = z.output<typeof consentSchema>;

/** Consents of a patient, as FHIR resources. */
export const consentEndpoints = {
  recordConsent: endpoint(
    'POST /medical/v1/patient/:id/consent',
    {
      tag: 'patient',
      reference: 'Consents',
      summary: 'Record a consent',
      description:
        'Records a FHIR R4 Consent (IHE PCF, Basic Consent). A denial applies at once: no query asks the sources in question, and the results of running queries are not collected. A permit is recorded as evidence; it lifts no denial.',
    },
    {
      body: recordConsentBodySchema,
      responses: { 201: consentSchema },
    },
  ),
  listConsents: endpoint(
    'GET /medical/v1/patient/:id/consent',
    {
      tag: 'patient',
      reference: 'Consents',
      summary: 'List the consents of a patient',
      description:
        'Newest first, including those that have ended; at most 500.',
    },
    z.object({ consents: z.array(consentSchema) }),
  ),
  endConsent: endpoint(
    'POST /medical/v1/patient/:id/consent/:consentId/end',
    {
      tag: 'patient',
      reference: 'Consents',
      summary: 'End a consent',
      description:
        'The consent no longer applies and stays in the history. 409 if it was made by `hieOptOut`, which ends it.',
    },
    consentSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const consentExamples = {
  recordConsent: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: {
      resourceType: 'Consent',
      status: 'active',
      scope: {
        coding: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/consentscope',
            code: 'patient-privacy',
          },
        ],
      },
      category: [{ coding: [{ system: 'http://loinc.org', code: '59284-0' }] }],
      dateTime: '2026-11-21',
      performer: [
        { reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
      ],
      organization: [{ display: 'Example Clinic' }],
      sourceReference: { display: 'Form 12, scanned on 2026-11-21' },
      policy: [{ uri: 'https://clinic.example.org/privacy/3' }],
      provision: {
        type: 'deny',
        period: { start: '2026-11-21', end: '2027-11-20' },
        purpose: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason',
            code: 'TREAT',
          },
        ],
        actor: [
          {
            role: {
              coding: [
                {
                  system:
                    'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
                  code: 'CST',
                },
              ],
            },
            reference: { identifier: { value: 'lab' } },
          },
        ],
      },
    },
    answer: {
      resourceType: 'Consent',
      status: 'active',
      scope: {
        coding: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/consentscope',
            code: 'patient-privacy',
          },
        ],
      },
      category: [{ coding: [{ system: 'http://loinc.org', code: '59284-0' }] }],
      dateTime: '2026-11-21',
      performer: [
        { reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
      ],
      organization: [{ display: 'Example Clinic' }],
      sourceReference: { display: 'Form 12, scanned on 2026-11-21' },
      policy: [{ uri: 'https://clinic.example.org/privacy/3' }],
      provision: {
        type: 'deny',
        period: { start: '2026-11-21', end: '2027-11-20' },
        purpose: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason',
            code: 'TREAT',
          },
        ],
        actor: [
          {
            role: {
              coding: [
                {
                  system:
                    'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
                  code: 'CST',
                },
              ],
            },
            reference: { identifier: { value: 'lab' } },
          },
        ],
      },
      id: '01923ead-90a1-7b23-84d5-f60718293a4b',
      meta: { lastUpdated: '2026-11-21T15:04:05.000Z' },
      patient: { reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    },
  },

  listConsents: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      consents: [
        {
          resourceType: 'Consent',
          status: 'active',
          scope: {
            coding: [
              {
                system: 'http://terminology.hl7.org/CodeSystem/consentscope',
                code: 'patient-privacy',
              },
            ],
          },
          category: [
            { coding: [{ system: 'http://loinc.org', code: '59284-0' }] },
          ],
          dateTime: '2026-11-21',
          performer: [
            { reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
          ],
          organization: [{ display: 'Example Clinic' }],
          sourceReference: { display: 'Form 12, scanned on 2026-11-21' },
          policy: [{ uri: 'https://clinic.example.org/privacy/3' }],
          provision: {
            type: 'deny',
            period: { start: '2026-11-21', end: '2027-11-20' },
            purpose: [
              {
                system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason',
                code: 'TREAT',
              },
            ],
            actor: [
              {
                role: {
                  coding: [
                    {
                      system:
                        'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
                      code: 'CST',
                    },
                  ],
                },
                reference: { identifier: { value: 'lab' } },
              },
            ],
          },
          id: '01923ead-90a1-7b23-84d5-f60718293a4b',
          meta: { lastUpdated: '2026-11-21T15:04:05.000Z' },
          patient: {
            reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          },
        },
      ],
    },
  },

  endConsent: {
    params: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      consentId: '01923ead-90a1-7b23-84d5-f60718293a4b',
    },
    answer: {
      resourceType: 'Consent',
      status: 'inactive',
      scope: {
        coding: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/consentscope',
            code: 'patient-privacy',
          },
        ],
      },
      category: [{ coding: [{ system: 'http://loinc.org', code: '59284-0' }] }],
      dateTime: '2026-11-21',
      performer: [
        { reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
      ],
      organization: [{ display: 'Example Clinic' }],
      sourceReference: { display: 'Form 12, scanned on 2026-11-21' },
      policy: [{ uri: 'https://clinic.example.org/privacy/3' }],
      provision: {
        type: 'deny',
        period: { start: '2026-11-21', end: '2027-11-20' },
        purpose: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason',
            code: 'TREAT',
          },
        ],
        actor: [
          {
            role: {
              coding: [
                {
                  system:
                    'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
                  code: 'CST',
                },
              ],
            },
            reference: { identifier: { value: 'lab' } },
          },
        ],
      },
      id: '01923ead-90a1-7b23-84d5-f60718293a4b',
      meta: { lastUpdated: '2026-11-21T15:04:05.000Z' },
      patient: { reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    },
  },
} satisfies ExamplesOf<typeof consentEndpoints>;
