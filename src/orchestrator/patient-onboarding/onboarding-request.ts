import { z } from 'zod';
import { boundedList, URL_LENGTH_MAX } from '../../contract/bounds.ts';
import {
  METADATA_KEYS_MAX,
  metadataSchema,
  networkQueryRequestSchema,
} from '../../contract/network-query.ts';
import type { OnboardedPatient, OnboardingTiming } from '../../contract/patient-onboarding.ts';
import { patientDemographicsSchema } from '../../contract/patients.ts';

const ALL_SOURCES = { hie: { enabled: true }, pharmacy: { enabled: true }, lab: { enabled: true } };

/**
 * One onboarding as an EHR, a form or a person asks for it. Checked here by the rules of the interface, so that a
 * mistake is answered at once and not by a failed workflow. Facility and cohort ids are any string: the exchange may
 * be another service.
 */
export const onboardingRequestSchema = z.object({
  /** The caller's own id of this job; the same id is the same onboarding. */
  jobId: z.string({ error: 'jobId is required' }).trim().min(1).max(255),
  facilityId: z.string({ error: 'facilityId is required' }).trim().min(1).max(200),
  patient: patientDemographicsSchema,
  cohortIds: boundedList(z.array(z.string().min(1).max(200)), 100).optional(),
  sources: networkQueryRequestSchema.shape.sources.optional(),
  /** The patient asks for their own records: they prove who they are first, and come back here. */
  ias: z.object({ redirectUrl: z.url({ protocol: /^https?$/ }).max(URL_LENGTH_MAX) }).optional(),
  metadata: metadataSchema
    .refine((pairs) => Object.keys(pairs).length < METADATA_KEYS_MAX, {
      error: `metadata has at most ${METADATA_KEYS_MAX - 1} entries here: one is ours`,
    })
    .optional(),
});

/** What `startOnboarding` takes: as it came, once it was found to be right. */
export interface OnboardingRequest
  extends Omit<z.input<typeof onboardingRequestSchema>, 'patient' | 'sources'> {
  patient: OnboardedPatient;
  sources?: z.input<typeof networkQueryRequestSchema>['sources'];
  timing?: Partial<OnboardingTiming>;
}

/** So many are listed; there are hardly more kinds of mistakes. */
const PROBLEMS_MAX = 100;

export interface RequestProblem {
  path: string;
  message: string;
}

/** The request, or all that is wrong with it. The exchange gets it as the caller wrote it and normalises it itself. */
export function readOnboardingRequest(
  body: unknown,
): { ok: true; request: OnboardingRequest } | { ok: false; problems: RequestProblem[] } {
  const parsed = onboardingRequestSchema.safeParse(body);
  if (parsed.success) return { ok: true, request: onlyKnownMembers(body) };
  return {
    ok: false,
    problems: parsed.error.issues
      .slice(0, PROBLEMS_MAX)
      .map(({ path, message }) => ({ path: path.join('.'), message })),
  };
}

/** Anything else that a body holds does not get into a workflow's input. */
function onlyKnownMembers(body: unknown): OnboardingRequest {
  const { jobId, facilityId, patient, cohortIds, sources, ias, metadata } = body as OnboardingRequest;
  const known = patientDemographicsSchema.keyof().options;
  const cleaned = Object.fromEntries(known.map((name) => [name, patient[name]]));
  return {
    ...{ jobId, facilityId, patient: cleaned as OnboardedPatient, cohortIds, sources },
    // A body may carry more than the address.
    ...(ias === undefined ? {} : { ias: { redirectUrl: ias.redirectUrl } }),
    metadata,
  };
}

export const sourcesOf = (request: OnboardingRequest) => request.sources ?? ALL_SOURCES;
