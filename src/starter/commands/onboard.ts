import { randomUUID } from 'node:crypto';
import type { SourceType } from '../../contract/primitives.ts';
import { anySignal } from '../../lib/abort-signals.ts';
import { mapAtMost } from '../../lib/at-most.ts';
import { EXIT } from '../../lib/exit-codes.ts';
import {
  type OnboardingRequest,
  readOnboardingRequest,
} from '../../orchestrator/patient-onboarding/onboarding-request.ts';
import { RefusedError, UsageError } from '../errors.ts';
import { requestedSources } from '../input/arguments.ts';
import { type PatientToOnboard, patientsToOnboard } from '../input/patients.ts';
import { followOnboarding } from '../progress/onboarding-view.ts';
import { Pace } from '../progress/poll-exchange.ts';
import { awaitedByOnboarding, onboardingRows } from '../progress/rows.ts';
import {
  openOnboardings,
  type StarterOnboardings,
} from '../target/onboardings.ts';
import { type PersonOutcome, playPerson } from '../target/simulated-person.ts';
import { facilityOf, requireStack } from '../target/target.ts';
import { type CommandResult, howToFollow } from '../terminal.ts';
import {
  type CommandContext,
  endOfFollowing,
  type FollowingOptions,
  type StarterCommand,
} from './command.ts';
import {
  createLinkPrinter,
  onboardingsResult,
  type ReportedOnboarding,
} from './report-onboarding.ts';

export interface OnboardOptions extends FollowingOptions {
  sample?: string[];
  file?: string;
  cohort?: string[];
  sources: SourceType[];
  realtime?: boolean;
  job?: string;
  /** Individual access: the patient verifies their identity first. */
  ias?: boolean;
  /**
   * Page that the patient returns to; default: a page of the stack's receiver.
   */
  redirectUrl?: string;
  simulatePerson?: PersonOutcome;
  /** How many run at the same time. */
  atOnce: number;
}

interface Job {
  label: string;
  request: OnboardingRequest;
}

/**
 * Starts a `patientOnboarding` workflow for each patient, and follows each
 * until it ends. Throws UsageError, ConfigError, ExchangeCallError.
 */
export const onboard: StarterCommand<[OnboardOptions]> = async (
  options,
  context,
) => {
  checkIdentityOptions(options, context);
  const patients = await patientsToOnboard(options);
  const sources = requestedSources(options);
  const facilityId = await facilityOf(context.target);
  const jobs = patients.map((patient) =>
    jobOf(patient, {
      jobId: jobIdOf(options.job, patient, patients.length),
      facilityId,
      cohortIds: options.cohort,
      sources,
      ias:
        options.redirectUrl === undefined
          ? undefined
          : { redirectUrl: options.redirectUrl },
    }),
  );
  const onboardings = await openOnboardings(context.target, context.env);
  try {
    return await runJobs(jobs, options, onboardings, context);
  } finally {
    await onboardings.close();
  }
};

/** Throws UsageError. */
function checkIdentityOptions(
  options: OnboardOptions,
  { target }: CommandContext,
): void {
  const { ias, redirectUrl, simulatePerson, wait } = options;
  if (ias !== true && (redirectUrl ?? simulatePerson) !== undefined)
    throw new UsageError(
      '--redirect-url and --simulate-person only work together with --ias; add --ias.',
    );
  if (ias !== true) return;
  if (target.stack === undefined && redirectUrl === undefined)
    throw new UsageError(
      'With --base-url, --ias also needs --redirect-url: the page of your site that the patient returns to.',
    );
  if (simulatePerson === undefined) return;
  requireStack(target);
  if (!wait)
    throw new UsageError(
      '--simulate-person acts while the onboarding is followed; remove --no-wait.',
    );
}

/**
 * Each of several patients gets its own job id. A generated id cannot be taken
 * for a request id.
 */
function jobIdOf(
  job: string | undefined,
  { label }: PatientToOnboard,
  patients: number,
): string {
  if (job === undefined) return `starter-${randomUUID()}`;
  return patients === 1 ? job : `${job}/${label}`;
}

function jobOf(
  { label, patient }: PatientToOnboard,
  rest: Omit<OnboardingRequest, 'patient'>,
): Job {
  const read = readOnboardingRequest({ ...rest, patient });
  if (read.ok) return { label, request: read.request };
  throw new UsageError(
    `${label} cannot be onboarded:\n${read.problems.map(({ path, message }) => `  ${path}: ${message}`).join('\n')}`,
  );
}

async function runJobs(
  jobs: readonly Job[],
  options: OnboardOptions,
  onboardings: StarterOnboardings,
  context: CommandContext,
): Promise<CommandResult> {
  const { terminal, target } = context;
  const { live } = terminal;
  const signal = endOfFollowing(terminal, options);
  const pace = new Pace();
  const printLink = createLinkPrinter(live);
  const reported = await mapAtMost(
    jobs,
    options.atOnce,
    async ({ label, request }) => {
      if (signal.aborted) return undefined;
      const { jobId } = request;
      const ias =
        options.ias === true
          ? returningTo(request.ias, onboardings.returnAddress(jobId))
          : undefined;
      const { handle, workflowId, isNew, isOther } = await onboardings.start({
        ...request,
        ias,
      });
      if (isOther)
        throw new RefusedError(
          `Job ${jobId} was started for another patient or facility. Pass another --job.`,
        );
      const started: ReportedOnboarding = { label, jobId, workflowId, isNew };
      if (!options.wait && ias === undefined) return started;
      // With --no-wait the link is still needed: follow until it has been
      // printed.
      const untilLink = options.wait ? undefined : new AbortController();
      const ends = [
        signal,
        untilLink?.signal,
        untilLink && AbortSignal.timeout(LINK_WAIT_MS),
      ];
      const view = await followOnboarding(
        handle,
        (now) => {
          live.set(
            label,
            onboardingRows(now, live.colors),
            awaitedByOnboarding(now),
          );
          const page = printLink(label, now);
          if (page === undefined) return;
          untilLink?.abort();
          // Not awaited: its outcome shows in the onboarding that is being
          // followed.
          if (
            options.simulatePerson !== undefined &&
            target.stack !== undefined
          )
            void playPerson(
              page,
              options.simulatePerson,
              target.stack.connection,
            ).catch((error: Error) => live.print(`${label}: ${error.message}`));
        },
        {
          client: target.exchange,
          pace,
          signal: anySignal(ends.filter((end) => end !== undefined)),
        },
      );
      live.finish(label);
      return { ...started, view };
    },
  );
  const begun = reported.filter((onboarding) => onboarding !== undefined);
  const result = onboardingsResult('onboard', begun, context);
  if (!options.wait) return { ...result, exitCode: EXIT.done };
  const running = begun.filter(({ view }) => view?.state === 'running');
  return {
    ...result,
    lines: [
      ...result.lines,
      ...running.map(({ jobId = '' }) => howToFollow(jobId)),
      ...(begun.length < jobs.length
        ? [
            `${jobs.length - begun.length} of ${jobs.length} onboardings were not started.`,
          ]
        : []),
    ],
    document: { ...result.document, notStarted: jobs.length - begun.length },
  };
}

/**
 * How long the exchange and its identity partner may take to create the page
 * for the patient.
 */
const LINK_WAIT_MS = 30_000;

function returningTo(
  given: OnboardingRequest['ias'],
  returnAddress: string | undefined,
): OnboardingRequest['ias'] {
  if (given !== undefined) return given;
  return returnAddress === undefined
    ? undefined
    : { redirectUrl: returnAddress };
}
