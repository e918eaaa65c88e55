import type { FhirResource } from 'fhir/r4.js';
import { z } from 'zod';
import { SOURCE_NAMES } from '../../../src/local-stack/simulator/protocol.ts';
import { type PatientView, withResolvedReferences } from './patient-view.ts';

/**
 * A correction at a source: a resource is deleted, or moved to another sample
 * patient.
 */
export const correction = z.strictObject({
  source: z.enum(SOURCE_NAMES),
  /** `Observation/<id at the source>` */
  resource: z.string().regex(/^[A-Z][A-Za-z]+\/[^/]+$/),
  /**
   * Key of the sample patient that the resource belongs to; without it, the
   * resource is deleted.
   */
  to: z.string().optional(),
});
export type Correction = z.infer<typeof correction>;

/** A resource that a sample patient gets, or that replaces one. */
export const addition = z.strictObject({
  source: z.enum(SOURCE_NAMES),
  /** Key of the sample patient. */
  sample: z.string(),
  resource: z.looseObject({
    resourceType: z.string().regex(/^[A-Z][A-Za-z]+$/),
    id: z.string().regex(/^[A-Za-z0-9.-]{1,64}$/),
  }),
});
export type Addition = z.infer<typeof addition>;

/** Corrected resources by name; undefined: deleted. */
export type Corrections = ReadonlyMap<
  string,
  { resource: FhirResource; to: string } | undefined
>;

export const resourceName = ({ resourceType, id }: FhirResource): string =>
  `${resourceType}/${id}`;

/**
 * A view after the corrections: without the resources that were removed, with
 * those that were moved here.
 */
export function corrected(
  view: PatientView,
  corrections: Corrections,
): PatientView {
  if (corrections.size === 0) return view;
  const kept = view.resources.filter(
    (resource) => !corrections.has(resourceName(resource)),
  );
  const came = [...corrections.values()].flatMap((moved) =>
    moved?.to === view.sample ? [moved.resource] : [],
  );
  return {
    ...view,
    resources: [
      ...came.map((resource) => about(resource, view.patient.id ?? '')),
      ...kept,
    ],
  };
}

/** A copy of the resource that refers to this Patient. */
const about = (resource: FhirResource, patientId: string): FhirResource =>
  withResolvedReferences(resource, (reference) =>
    reference.startsWith('Patient/') ? `Patient/${patientId}` : reference,
  );
