import { z } from 'zod';
import { boundedList } from '../../../../contract/bounds.ts';

/**
 * The parts of a sender's FHIR R4 resources that are read. All other members
 * are ignored and not validated.
 */
const text = z
  .string()
  .min(1)
  .max(1_000)
  .refine((value) => !value.includes('\0'), {
    error: 'the character U+0000 is not allowed',
  });
/** A list within a resource, with at most `max` items. */
const listOf = <T extends z.ZodType>(item: T, max = 100) =>
  boundedList(z.array(item), max);
const reference = z.looseObject({ reference: text, display: text }).partial();
const period = z.looseObject({ start: text, end: text }).partial();
const coding = z
  .looseObject({ system: text, code: text, display: text })
  .partial();
const concept = z.looseObject({ coding: listOf(coding), text }).partial();
const identifier = z
  .looseObject({ system: text, value: text, type: concept })
  .partial();
const common = {
  id: text.optional(),
  identifier: listOf(identifier).optional(),
  meta: z
    .looseObject({ versionId: text, lastUpdated: text })
    .partial()
    .optional(),
};

const patient = z.looseObject({
  ...common,
  resourceType: z.literal('Patient'),
  name: listOf(
    z.looseObject({ family: text, given: listOf(text), text }).partial(),
  ).optional(),
  birthDate: text.optional(),
  gender: z.enum(['male', 'female', 'other', 'unknown']).optional(),
  // A death in an unexpected shape is no reason to refuse the message.
  deceasedBoolean: z.boolean().optional().catch(undefined),
  deceasedDateTime: text.optional().catch(undefined),
  address: listOf(
    z.looseObject({ line: listOf(text), postalCode: text }).partial(),
  ).optional(),
});

const encounter = z.looseObject({
  ...common,
  resourceType: z.literal('Encounter'),
  status: text,
  class: coding.optional(),
  subject: reference.optional(),
  period: period.optional(),
  location: listOf(
    z.looseObject({ location: reference, period }).partial(),
  ).optional(),
  hospitalization: z
    .looseObject({ dischargeDisposition: concept })
    .partial()
    .optional(),
});

const medicationDispense = z.looseObject({
  ...common,
  resourceType: z.literal('MedicationDispense'),
  status: text,
  subject: reference.optional(),
  whenPrepared: text.optional(),
  whenHandedOver: text.optional(),
});

const medicationRequest = z.looseObject({
  ...common,
  resourceType: z.literal('MedicationRequest'),
  status: text,
  subject: reference.optional(),
});

const ofLaboratory = {
  ...common,
  status: text,
  subject: reference.optional(),
  effectiveDateTime: text.optional(),
  effectivePeriod: period.optional(),
};
const diagnosticReport = z.looseObject({
  ...ofLaboratory,
  resourceType: z.literal('DiagnosticReport'),
  specimen: listOf(reference, 1_000).optional(),
});
const observation = z.looseObject({
  ...ofLaboratory,
  resourceType: z.literal('Observation'),
  specimen: reference.optional(),
});

const specimen = z.looseObject({
  ...common,
  resourceType: z.literal('Specimen'),
  collection: z
    .looseObject({ collectedDateTime: text, collectedPeriod: period })
    .partial()
    .optional(),
});
const location = z.looseObject({
  ...common,
  resourceType: z.literal('Location'),
  name: text.optional(),
});
const messageHeader = z.looseObject({
  ...common,
  resourceType: z.literal('MessageHeader'),
  focus: listOf(reference, 1_000).optional(),
});

const READ = z.discriminatedUnion('resourceType', [
  patient,
  encounter,
  medicationDispense,
  medicationRequest,
  diagnosticReport,
  observation,
  specimen,
  location,
  messageHeader,
]);
const READ_TYPES = new Set(
  READ.options.map((option) => option.shape.resourceType.value as string),
);

export type ReadResource = z.output<typeof READ>;
export type ReadType = ReadResource['resourceType'];
export type Read<T extends ReadType> = Extract<
  ReadResource,
  { resourceType: T }
>;

/** A resource of a type that is read; undefined for any other type. */
const resource = z
  .unknown()
  .transform((value, context): ReadResource | undefined => {
    const type = (value as { resourceType?: unknown } | null | undefined)
      ?.resourceType;
    if (typeof type !== 'string' || !READ_TYPES.has(type)) return undefined;
    const parsed = READ.safeParse(value);
    if (parsed.success) return parsed.data;
    // The error response names only the first problem.
    const [issue] = parsed.error.issues;
    context.addIssue({
      code: 'custom',
      path: [...(issue?.path ?? [])],
      message: issue?.message,
    });
    return z.NEVER;
  });

export const bundleSchema = z.looseObject({
  ...common,
  resourceType: z.literal('Bundle', { error: 'must be Bundle' }),
  identifier: identifier.optional(),
  type: z.enum(['message', 'collection'], {
    error: 'must be message or collection',
  }),
  timestamp: text.optional(),
  entry: listOf(
    z.looseObject({ fullUrl: text.optional(), resource: resource.optional() }),
    1_000,
  ),
});
export type ReadBundle = z.output<typeof bundleSchema>;
