import type { SourceType } from '../../contract/primitives.ts';
import { SOURCE_RETRIES } from '../../exchange/queries/network-query/rules/retries.ts';
import type { Awaited, LiveLines } from '../../lib/live-lines.ts';
import type { OnboardingView } from './onboarding-view.ts';
import { terminalText } from './plain-text.ts';
import type { QueryView } from './query-view.ts';

type Colors = LiveLines['colors'];

/** The part of a source that a row shows. */
export interface SourceLine {
  type: string;
  state: string;
  attempts: number;
  note?: string;
}

/** A headline with the phase, then a row for each source. */
export const onboardingRows = (
  view: OnboardingView,
  colors: Colors,
): string[] => [
  `${onboardingHeadline(view, colors)}`,
  ...view.sources.map((source) => sourceRow(source, colors)),
];

export function queryRows(view: QueryView, colors: Colors): string[] {
  const headline =
    view.state === 'running' ? 'in progress' : coloured(view.state, colors);
  return [
    `${headline}${problemOf(view.problem, colors)}`,
    ...view.sources.map((source) => sourceRow(source, colors)),
  ];
}

export function sourceRow(
  { type, state, attempts, note }: SourceLine,
  colors: Colors,
): string {
  const attempt = attempts > 1 ? `attempt ${attempts}` : '';
  const detail = note === undefined ? '' : colors.dim(terminalText(note));
  return `${type.padEnd(9)} ${coloured(state.padEnd(12), colors)} ${attempt.padEnd(10)} ${detail}`.trimEnd();
}

const PHASES: Readonly<Record<NonNullable<OnboardingView['phase']>, string>> = {
  'creating-patient': 'creating the patient',
  'assigning-cohorts': 'adding the patient to cohorts',
  'proving-identity': 'waiting for the patient to verify their identity',
  querying: 'waiting for the sources',
  cancelling: 'cancelling the queries',
  ended: 'ended',
};

function onboardingHeadline(view: OnboardingView, colors: Colors): string {
  if (view.state !== 'running') {
    const why = view.failure === undefined ? '' : `: ${view.failure}`;
    return `${coloured(view.state, colors)}${why}`;
  }
  const phase = view.phase === undefined ? 'starting' : PHASES[view.phase];
  return `${phase}${problemOf(view.problem, colors)}`;
}

const problemOf = (problem: string | undefined, colors: Colors): string =>
  problem === undefined ? '' : colors.yellow(` (${terminalText(problem)})`);

/** Colours a state by its meaning; padding around the word is kept. */
export function coloured(state: string, colors: Colors): string {
  switch (state.trim()) {
    case 'completed':
      return colors.green(state);
    case 'failed':
    case 'timed-out':
    case 'cancelled':
      return colors.red(state);
    case 'running':
      return colors.cyan(state);
    default:
      return colors.yellow(state);
  }
}

/** The sources that a query waits for. */
export const awaitedByQuery = ({ sources }: QueryView): Awaited[] =>
  sources
    .filter(({ state }) => state === 'running')
    .map(({ type, note, history }) =>
      awaitedSource(type, note, history.at(-1)?.startedAt),
    );

/** What an onboarding waits for: the patient, or sources. */
export function awaitedByOnboarding({
  state,
  phase,
  sources,
}: OnboardingView): Awaited[] {
  if (state !== 'running') return [];
  if (phase === 'proving-identity') return [{ what: 'the patient' }];
  return sources
    .filter((source) => source.state === 'running')
    .map(({ type, note, startedAt }) => awaitedSource(type, note, startedAt));
}

/**
 * Only our own exchange says what a source is doing, and only there we know
 * when an attempt ends without a response.
 */
function awaitedSource(
  type: SourceType,
  note: string | undefined,
  startedAt: string | undefined,
): Awaited {
  if (note === undefined || startedAt === undefined) return { what: type };
  return {
    what: type,
    until: new Date(Date.parse(startedAt) + SOURCE_RETRIES[type].deadlineMs),
  };
}
