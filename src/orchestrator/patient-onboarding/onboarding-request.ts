import { z } from 'zod';
import { boundedList, URL_LENGTH_MAX } from '../../contract/bounds.ts';
import {
  METADATA_KEYS_MAX,
  metadataSchema,
  networkQueryRequestSchema,
} from '../../contract/network-query.ts';
import type {
  OnboardedPatient,
  OnboardingTiming,
} from '../../contract/patient-onboarding.ts';
import { patientDemographicsSchema } from '../../contract/patients.ts';

const required = (name: string) => ({
  error: ({ input }: { input?: unknown }) =>
    input === undefined ? `${name} is required` : undefined,
});

/**
 * The caller's own id for a job, exactly as given; the same id always means the
 * same onboarding.
 */
export const jobIdSchema = z
  .string(required('jobId'))
  .max(255)
  .regex(/\S/, { error: 'jobId is required' });

const ALL_SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true },
  lab: { enabled: true },
};

/**
 * The request of an EHR, a form or a person for one onboarding. Validated here
 * by the rules of the interface, so that mistakes are reported at once instead
 * of by a failed workflow. Facility and cohort ids may be any string, because
 * the exchange may be another service.
 */
export const onboardingRequestSchema = z.object({
  jobId: jobIdSchema,
  facilityId: z.string(required('facilityId')).trim().min(1).max(200),
  patient: patientDemographicsSchema,
  cohortIds: boundedList(z.array(z.string().min(1).max(200)), 100).optional(),
  sources: networkQueryRequestSchema.shape.sources.optional(),
  /**
   * The patient requests their own records: they prove their identity first,
   * and then return to this address.
   */
  ias: z
    .object({
      redirectUrl: z.url({ protocol: /^https?$/ }).max(URL_LENGTH_MAX),
    })
    .optional(),
  metadata: metadataSchema
    .refine((pairs) => Object.keys(pairs).length < METADATA_KEYS_MAX, {
      error: `metadata may have at most ${METADATA_KEYS_MAX - 1} entries; the orchestrator adds one`,
    })
    .optional(),
});

/** A validated request in the form in which it was sent. */
export interface OnboardingRequest
  extends Omit<z.input<typeof onboardingRequestSchema>, 'patient' | 'sources'> {
  patient: OnboardedPatient;
  sources?: z.input<typeof networkQueryRequestSchema>['sources'];
  timing?: Partial<OnboardingTiming>;
}

/** At most this many problems are reported. */
const PROBLEMS_MAX = 100;

export interface RequestProblem {
  path: string;
  message: string;
}

/**
 * Returns the request, or its problems. The request is passed on unchanged; the
 * exchange normalises it itself.
 */
export function readOnboardingRequest(
  body: unknown,
):
  | { ok: true; request: OnboardingRequest }
  | { ok: false; problems: RequestProblem[] } {
  const parsed = onboardingRequestSchema.safeParse(body);
  if (parsed.success) return { ok: true, request: onlyKnownMembers(body) };
  return {
    ok: false,
    problems: parsed.error.issues
      .slice(0, PROBLEMS_MAX)
      .map(({ path, message }) => ({ path: path.join('.'), message })),
  };
}

/** Drops unknown members, so that they do not get into a workflow's input. */
function onlyKnownMembers(body: unknown): OnboardingRequest {
  const { jobId, facilityId, patient, cohortIds, sources, ias, metadata } =
    body as OnboardingRequest;
  const known = patientDemographicsSchema.keyof().options;
  const cleaned = Object.fromEntries(
    known.map((name) => [name, patient[name]]),
  );
  return {
    jobId,
    facilityId,
    patient: cleaned as OnboardedPatient,
    cohortIds,
    sources,
    // `ias` may have unknown members too.
    ...(ias === undefined ? {} : { ias: { redirectUrl: ias.redirectUrl } }),
    metadata,
  };
}

export const sourcesOf = (request: Pick<OnboardingRequest, 'sources'>) =>
  request.sources ?? ALL_SOURCES;
