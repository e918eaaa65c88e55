import { countOf } from '../../../../lib/counted.ts';
import type { Reported } from '../connector.ts';
import { ISSUE_CODES, isRecord } from '../http/failures.ts';
import type { ResponseEntry } from './fetched-part.ts';

/** Issue codes that say that something is missing, however severe the source calls it. */
const MISSING = new Set(['incomplete', 'timeout', 'throttled', 'too-costly', 'suppressed', 'no-store']);
const NAMED_MAX = 10;

/**
 * What a source reports in the OperationOutcomes of an answer: errors leave a gap in the record, warnings do not. Only severities
 * and codes of FHIR are repeated, because texts may name the patient.
 */
export function reportedIn(entries: readonly ResponseEntry[]): Reported {
  const [gaps, warnings] = [new Set<string>(), new Set<string>()];
  for (const { resource } of entries) {
    if (!isRecord(resource) || resource.resourceType !== 'OperationOutcome') continue;
    const issues: unknown[] = Array.isArray(resource.issue) ? resource.issue : [];
    for (const issue of issues.filter(isRecord)) {
      const code = typeof issue.code === 'string' && ISSUE_CODES.has(issue.code) ? issue.code : 'unknown';
      if (issue.severity === 'information' && !MISSING.has(code)) continue;
      if (issue.severity === 'warning' && !MISSING.has(code)) warnings.add(`a warning (${code})`);
      else
        gaps.add(
          issue.severity === 'warning' || issue.severity === 'information' ? code : `an error (${code})`,
        );
    }
  }
  const said = (words: Set<string>) =>
    words.size === 0 ? [] : [`the source reports ${[...words].join(', ')}`];
  return { gaps: said(gaps), warnings: said(warnings) };
}

/** `3 resources without a valid id`, for each reason. */
export const countedGaps = (counts: ReadonlyMap<string, number>): string[] =>
  [...counts].map(([reason, count]) => `${countOf(count, 'resource')} ${reason}`);

/** `Condition, Observation and 3 more`. */
export function namesOf(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return more > 0 ? `${names.slice(0, NAMED_MAX).join(', ')} and ${more} more` : names.join(', ');
}

export const joined = (...parts: readonly Reported[]): Reported => ({
  gaps: parts.flatMap(({ gaps }) => gaps),
  warnings: parts.flatMap(({ warnings }) => warnings),
});
