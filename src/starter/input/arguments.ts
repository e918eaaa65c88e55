import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import {
  SOURCE_TYPES,
  type SourceType,
  sourceTypeSchema,
} from '../../contract/primitives.ts';
import {
  parseNetworkQueryWorkflowId,
  patientOnboardingWorkflowId,
} from '../../contract/temporal.ts';
import { ENCOUNTER_EVENTS } from '../../local-stack/simulator/notifications.ts';
import { jobIdSchema } from '../../orchestrator/patient-onboarding/onboarding-request.ts';
import { UsageError } from '../errors.ts';

export const SUBJECT_KINDS = ['query', 'onboarding'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/**
 * What an id on the command line refers to. `query-or-onboarding`: a request
 * id, else the user's own job id.
 */
export interface Subject {
  kind: SubjectKind | 'query-or-onboarding';
  /** Request id of the query; job id or workflow id of the onboarding. */
  id: string;
}

/**
 * Parses a request id, a job id, or the workflow id of a query or an
 * onboarding. Only text that looks like a request id is sent to the exchange: a
 * job id may contain a medical record number, and request paths are logged.
 */
export function parseSubject(text: string, kind?: SubjectKind): Subject {
  const workflow = parseNetworkQueryWorkflowId(text);
  if (workflow !== undefined) return { kind: 'query', id: workflow.requestId };
  if (kind !== undefined) return { kind, id: text };
  if (text.startsWith(patientOnboardingWorkflowId('')))
    return { kind: 'onboarding', id: text };
  return {
    kind: z.guid().safeParse(text).success
      ? 'query-or-onboarding'
      : 'onboarding',
    id: text,
  };
}

/** What the stack's simulator can notify the gateway of. */
export const SIMULATED_EVENTS = [
  ...ENCOUNTER_EVENTS,
  'fill',
  'result',
] as const;
export type SimulatedEvent = (typeof SIMULATED_EVENTS)[number];

const TIMEOUT_MAX_SECONDS = 1_000_000;

/** Parses the value of `--timeout`. Throws InvalidArgumentError. */
export function parseSeconds(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= TIMEOUT_MAX_SECONDS) return value;
  throw new InvalidArgumentError(
    'Expected a number of seconds greater than 0.',
  );
}

/** Parses the caller's own id of a job. Throws InvalidArgumentError. */
export function parseJobId(text: string): string {
  if (jobIdSchema.safeParse(text).success) return text;
  throw new InvalidArgumentError(
    'Expected 1 to 255 characters, not only blanks.',
  );
}

/** Parses a list such as `hie,pharmacy`. Throws InvalidArgumentError. */
export function parseSources(text: string): SourceType[] {
  const names = text.split(/[\s,]+/).filter(Boolean);
  const unknown = names.filter(
    (name) => !sourceTypeSchema.safeParse(name).success,
  );
  if (unknown.length > 0 || names.length === 0)
    throw new InvalidArgumentError(
      `${unknown.length > 0 ? `Unknown source: ${unknown.join(', ')}. ` : ''}Expected one or more of ${SOURCE_TYPES.join(',')}.`,
    );
  return SOURCE_TYPES.filter((type) => names.includes(type));
}

/**
 * Builds the `sources` member of "E2. Start network query". Throws UsageError.
 */
export function requestedSources({
  sources,
  realtime,
}: {
  sources: SourceType[];
  realtime?: boolean;
}) {
  if (realtime === true && !sources.includes('pharmacy'))
    throw new UsageError(
      '--realtime applies to the pharmacy source; add pharmacy to --sources.',
    );
  return {
    ...(sources.includes('hie') && { hie: { enabled: true } }),
    ...(sources.includes('pharmacy') && {
      pharmacy: { enabled: true, ...(realtime === true && { realtime }) },
    }),
    ...(sources.includes('lab') && { lab: { enabled: true } }),
  };
}
