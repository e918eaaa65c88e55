import type { SourceType } from '../../contract/primitives.ts';
import { SOURCE_RETRIES } from '../../exchange/queries/network-query/rules/retries.ts';
import type { Awaited } from '../../lib/live-lines.ts';
import type { OnboardingView } from './onboarding-view.ts';
import type { QueryView } from './query-view.ts';

/** The sources that a query waits for. */
export const awaitedByQuery = ({ sources }: QueryView): Awaited[] =>
  sources
    .filter(({ state }) => state === 'running')
    .map(({ type, note, history }) => awaitedSource(type, note, history.at(-1)?.startedAt));

/** What an onboarding waits for: the patient, or sources. */
export function awaitedByOnboarding({ state, phase, sources }: OnboardingView): Awaited[] {
  if (state !== 'running') return [];
  if (phase === 'proving-identity') return [{ what: 'the patient' }];
  return sources
    .filter((source) => source.state === 'running')
    .map(({ type, note, startedAt }) => awaitedSource(type, note, startedAt));
}

/** Only our own exchange says what a source is doing, and only there we know when an attempt ends without an answer. */
function awaitedSource(type: SourceType, note: string | undefined, startedAt: string | undefined): Awaited {
  if (note === undefined || startedAt === undefined) return { what: type };
  return { what: type, until: new Date(Date.parse(startedAt) + SOURCE_RETRIES[type].deadlineMs) };
}
