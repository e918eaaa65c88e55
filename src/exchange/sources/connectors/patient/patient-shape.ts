import type { Patient } from 'fhir/r4.js';
import { z } from 'zod';
import type { Bundle } from '../collect/bundle.ts';
import { isResourceId } from '../collect/subjects.ts';

/** The elements of a Patient that matching reads; an element with an invalid shape counts as missing. */
const text = z.string().optional().catch(undefined);
const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(item.nullable().catch(null))
    .transform((items) => items.filter((value) => value !== null))
    .optional()
    .catch(undefined);

const descriptionSchema = z.object({
  resourceType: z.literal('Patient'),
  birthDate: text,
  gender: z.enum(['male', 'female', 'other', 'unknown']).optional().catch(undefined),
  name: listOf(z.object({ family: text, given: listOf(z.string()), text })),
  address: listOf(z.object({ line: listOf(z.string()), city: text, state: text, postalCode: text })),
  telecom: listOf(
    z.object({
      system: z.enum(['phone', 'fax', 'email', 'pager', 'url', 'sms', 'other']).optional().catch(undefined),
      value: text,
    }),
  ),
  identifier: listOf(
    z.object({
      system: text,
      value: text,
      type: z
        .object({ coding: listOf(z.object({ code: text })) })
        .optional()
        .catch(undefined),
    }),
  ),
  link: listOf(z.object({ other: z.object({ reference: text }), type: text })),
});

const patientSchema = descriptionSchema.extend({ id: z.string().refine(isResourceId) });

export type ReadPatient = Patient & { id: string };

/** Reads a Patient with a usable id, reduced to what matching needs; undefined for anything else. */
export function readPatient(resource: unknown): ReadPatient | undefined {
  const patient = patientSchema.safeParse(resource);
  return patient.success ? (patient.data as ReadPatient) : undefined;
}

/** The same for a Patient that need not have an id: the description of a person. */
export function readDescription(resource: unknown): Patient | undefined {
  const described = descriptionSchema.safeParse(resource);
  return described.success ? (described.data as Patient) : undefined;
}

export function readPatients(bundle: Bundle): ReadPatient[] {
  return bundle.entries.flatMap(({ resource }) => readPatient(resource) ?? []);
}
