import {
  combinedState,
  exitCodeOf,
  type OverallState,
} from '../../lib/exit-codes.ts';
import type { LiveLines } from '../../lib/live-lines.ts';
import { renderTable } from '../../lib/table.ts';
import { workflowLink } from '../../temporal/ui-links.ts';
import type { OnboardingView } from '../progress/onboarding-view.ts';
import { coloured } from '../progress/rows.ts';
import type { Target } from '../target/target.ts';
import {
  type CommandResult,
  howToRetry,
  type Terminal,
  unfinishedExit,
} from '../terminal.ts';

/** One onboarding that a command reports. */
export interface ReportedOnboarding {
  /** Name of the patient on this terminal; absent when only the id is known. */
  label?: string;
  jobId?: string;
  workflowId: string;
  /** False when the job had been started before. */
  isNew?: boolean;
  /** Undefined when its state was not read (--no-wait). */
  view?: OnboardingView;
  /** Without a view: what this command requested; default `started`. */
  requested?: 'started' | 'cancelling';
}

/**
 * Result of a command about onboardings: a table of all sources, then the
 * state, ids and link of each onboarding.
 */
export function onboardingsResult(
  command: string,
  onboardings: readonly ReportedOnboarding[],
  { terminal, target }: { terminal: Terminal; target: Target },
): CommandResult {
  const { colors } = terminal.live;
  const state = combinedState(
    onboardings.map(({ view }) => view?.state ?? 'running'),
  );
  return {
    exitCode:
      state === 'running'
        ? unfinishedExit(terminal.interrupted)
        : exitCodeOf(state),
    document: {
      command,
      status: state,
      onboardings: onboardings.map((onboarding) =>
        documentOf(onboarding, target),
      ),
    },
    lines: [
      '',
      ...sourcesTable(onboardings, colors),
      '',
      ...onboardings.flatMap((onboarding) =>
        linesOf(onboarding, target, colors),
      ),
    ],
  };
}

/**
 * The signed link to the patient's data is left out, because command output
 * ends up in logs.
 */
function documentOf(
  { label, jobId, workflowId, isNew, view, requested }: ReportedOnboarding,
  target: Target,
) {
  return {
    label,
    jobId,
    workflowId,
    workflowUrl: workflowLink(target.ui, workflowId),
    isNew,
    status: onboardingState(view, requested),
    phase: view?.phase,
    patientId: view?.patientId,
    created: view?.created,
    cohorts: view?.cohorts,
    requestIds: view?.requestIds,
    identity: view?.identity,
    sources: view?.sources,
    webhooksReceived: view?.webhooksReceived,
    documents: view?.summary?.documents,
    failure: view?.failure,
    problem: view?.problem,
  };
}

function sourcesTable(
  onboardings: readonly ReportedOnboarding[],
  colors: LiveLines['colors'],
): string[] {
  const rows = onboardings.flatMap(({ label = '', view }) =>
    (view?.sources ?? []).map(
      ({ type, state, attempts, via = '', note = '' }, index) => [
        index === 0 ? label : '',
        type,
        coloured(state, colors),
        String(attempts),
        via,
        note,
      ],
    ),
  );
  if (rows.length === 0) return [];
  const head = [
    'Patient',
    'Source',
    'Outcome',
    'Attempts',
    'Reported by',
    'Detail',
  ];
  const isNamed = onboardings.some(({ label }) => label !== undefined);
  return isNamed
    ? renderTable(head, rows)
    : renderTable(
        head.slice(1),
        rows.map((row) => row.slice(1)),
      );
}

function linesOf(
  { label, jobId, workflowId, isNew, view, requested }: ReportedOnboarding,
  target: Target,
  colors: LiveLines['colors'],
): string[] {
  const link = workflowLink(target.ui, workflowId);
  const named = [label, jobId === undefined ? undefined : `job ${jobId}`]
    .filter(Boolean)
    .join(', ');
  const known = isNew === false ? ' (this job had been started before)' : '';
  const why = view?.failure ?? view?.problem;
  return [
    `${named === '' ? 'Onboarding' : named}: ${coloured(onboardingState(view, requested), colors)}${known}${why === undefined ? '' : `, ${why}`}`,
    ...(view?.patientId === undefined
      ? []
      : [
          `  Patient:     ${view.patientId}${view.created === false ? ' (existed before)' : ''}`,
        ]),
    ...identityLine(view),
    ...(view === undefined || view.requestIds.length === 0
      ? []
      : [`  Queries:     ${view.requestIds.join(', ')}`]),
    ...documentsLine(view),
    `  Temporal UI: ${link ?? `workflow ${workflowId}`}`,
    ...retryLines(view),
  ];
}

/** After the end, the command that retries each source that failed. */
const retryLines = (view: OnboardingView | undefined): string[] =>
  view === undefined || view.state === 'running' || view.state === 'cancelled'
    ? []
    : view.sources.flatMap(({ type, state, requestId }) =>
        state === 'failed' && requestId !== undefined
          ? [`  ${howToRetry(requestId, type)}`]
          : [],
      );

const identityLine = (view: OnboardingView | undefined): string[] => {
  const page = view && pageOf(view);
  return page === undefined ? [] : [`  Next step:   ${page.text}`];
};

const documentsLine = (view: OnboardingView | undefined): string[] => {
  const { documents } = view?.summary ?? {};
  if (
    view?.patientId === undefined ||
    documents === undefined ||
    documents.total === 0
  )
    return [];
  return [
    `  Documents:   ${documents.total}; list them with: npm run starter -- documents ${view.patientId}`,
  ];
};

const onboardingState = (
  view: OnboardingView | undefined,
  requested: ReportedOnboarding['requested'] = 'started',
): OverallState | 'started' | 'cancelling' => view?.state ?? requested;

type Identity = NonNullable<OnboardingView['identity']>;

/**
 * The page that the patient must open next, with a text for the terminal;
 * undefined when there is none.
 */
export function pageOf({
  identity,
}: OnboardingView): { url: string; text: string } | undefined {
  if (identity?.url === undefined) return undefined;
  const { url, state, expiresAt } = identity;
  const until = expiresAt === undefined ? '' : ` (works until ${expiresAt})`;
  return { url, text: `${PURPOSES[state]}${until}: ${url}` };
}

const PURPOSES: Readonly<Record<Identity['state'], string>> = {
  'to-verify': 'link for the patient, to verify their identity',
  'to-confirm': 'link for the patient, to sign in with two factors',
  confirmed: 'confirmed',
};

/**
 * Prints each page once, uncut and on a line of its own, so that it can be
 * copied or clicked. The function returns the address of a page that it has
 * just printed, else undefined.
 */
export function createLinkPrinter(
  live: LiveLines,
): (label: string, view: OnboardingView) => string | undefined {
  const printed = new Set<string>();
  return (label, view) => {
    const page = pageOf(view);
    if (page === undefined || printed.has(page.url)) return undefined;
    printed.add(page.url);
    live.print(`${label}: ${page.text}`);
    return page.url;
  };
}
