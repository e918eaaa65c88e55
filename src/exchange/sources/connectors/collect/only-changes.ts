import { ChangesNotHonoured } from '../connector.ts';
import { isRecord } from '../http/failures.ts';
import type { SourceContext } from '../source-context.ts';
import type { ResponseEntry } from './fetched-part.ts';
import type { Plan, Step } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';

/** Servers that store times in seconds return resources of the second in which the asked time lies. */
const ROUNDING_MS = 2_000;

/**
 * Throws ChangesNotHonoured when the response to a request for changes contains something older, or something without a time.
 * `$everything` may always return the Patient and what other resources refer to, a search what it includes.
 */
export function ensureOnlyChanges(
  context: SourceContext,
  plan: Plan,
  step: Step,
  entries: readonly ResponseEntry[],
): void {
  const request = requestOf(plan, step);
  if (request?.since === undefined) return;
  const sinceMs = Date.parse(request.since) - ROUNDING_MS;
  const counts = (entry: ResponseEntry) =>
    request.type === undefined ? isClinical(context, entry) : typeOf(entry) === request.type;
  // Also false for a resource without a time.
  const isChange = (entry: ResponseEntry) => lastUpdatedMs(entry) >= sinceMs;
  if (entries.some((entry) => counts(entry) && !isChange(entry)))
    throw new ChangesNotHonoured(request.type ?? 'everything');
}

/** What a step's response answers: a search for a type, or `$everything` when it has no type. */
function requestOf(plan: Plan, step: Step): { since?: string; type?: string } | undefined {
  const request = step.kind === 'link' ? (step.origin ?? step) : step;
  switch (request.kind) {
    case 'search':
    case 'supporting':
      return { since: request.since, type: request.type };
    case 'everything':
      return { since: request.since };
    case 'job':
    case 'file':
    case 'link':
      return { since: plan.since };
    case 'read':
    case 'documents':
      return undefined;
  }
}

/** Whether an entry is about the patient, other than the Patient itself. */
export function isClinical({ config }: SourceContext, entry: ResponseEntry): boolean {
  const type = typeOf(entry);
  return type !== undefined && type !== 'Patient' && resourceTypesOf(config.source).clinical.includes(type);
}

/** NaN for a resource without a time. */
export function lastUpdatedMs({ resource }: ResponseEntry): number {
  const meta = isRecord(resource) ? resource.meta : undefined;
  return isRecord(meta) && typeof meta.lastUpdated === 'string' ? Date.parse(meta.lastUpdated) : Number.NaN;
}

export const typeOf = ({ resource }: ResponseEntry): string | undefined =>
  isRecord(resource) && typeof resource.resourceType === 'string' ? resource.resourceType : undefined;
