import { randomUUID } from 'node:crypto';
import type { SourceType } from '../../contract/primitives.ts';
import { type OnboardingRequest, readOnboardingRequest } from '../../orchestrator/onboarding-request.ts';
import { mapAtMost } from '../at-most.ts';
import { UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type PatientToOnboard, patientsToOnboard } from '../input/patients.ts';
import { requestedSources } from '../input/sources.ts';
import { followOnboarding } from '../progress/follow-onboarding.ts';
import { Pace } from '../progress/pace.ts';
import { onboardingRows } from '../progress/rows.ts';
import { type Onboardings, openOnboardings } from '../target/onboardings.ts';
import { facilityOf } from '../target/target.ts';
import { type CommandResult, howToFollow } from '../terminal.ts';
import { type CommandContext, endOfFollowing, type FollowingOptions } from './command.ts';
import { onboardingsResult, type ReportedOnboarding } from './report-onboarding.ts';

export interface OnboardOptions extends FollowingOptions {
  sample?: string[];
  file?: string;
  cohort?: string[];
  sources: SourceType[];
  realtime?: boolean;
  job?: string;
  /** How many run at once. */
  atOnce: number;
}

interface Job {
  label: string;
  request: OnboardingRequest;
}

/** Starts `patientOnboarding` for one or several patients, and follows each to its end. */
export async function onboard(options: OnboardOptions, context: CommandContext): Promise<CommandResult> {
  const patients = await patientsToOnboard(options);
  const sources = requestedSources(options);
  const facilityId = await facilityOf(context.target);
  const jobs = patients.map((patient) =>
    jobOf(patient, {
      jobId: jobIdOf(options.job, patient, patients.length),
      facilityId,
      cohortIds: options.cohort,
      sources,
    }),
  );
  const onboardings = await openOnboardings(context.target, context.env);
  try {
    return await runJobs(jobs, options, onboardings, context);
  } finally {
    await onboardings.close();
  }
}

/** Of several patients each gets a job of its own. A new id does not look like a request id. */
function jobIdOf(job: string | undefined, { label }: PatientToOnboard, patients: number): string {
  if (job === undefined) return `starter-${randomUUID()}`;
  return patients === 1 ? job : `${job}/${label}`;
}

function jobOf({ label, patient }: PatientToOnboard, rest: Omit<OnboardingRequest, 'patient'>): Job {
  const read = readOnboardingRequest({ ...rest, patient });
  if (read.ok) return { label, request: read.request };
  throw new UsageError(
    `${label} cannot be onboarded:\n${read.problems.map(({ path, message }) => `  ${path}: ${message}`).join('\n')}`,
  );
}

async function runJobs(
  jobs: readonly Job[],
  options: OnboardOptions,
  onboardings: Onboardings,
  context: CommandContext,
): Promise<CommandResult> {
  const { terminal, target } = context;
  const { live } = terminal;
  const signal = endOfFollowing(terminal, options);
  const pace = new Pace();
  const reported = await mapAtMost(jobs, options.atOnce, async ({ label, request }) => {
    if (signal.aborted) return undefined;
    const { handle, workflowId, isNew } = await onboardings.start(request);
    const started: ReportedOnboarding = { label, jobId: request.jobId, workflowId, isNew };
    if (!options.wait) return started;
    live.set(label, ['started']);
    const view = await followOnboarding(handle, (now) => live.set(label, onboardingRows(now, live.colors)), {
      client: target.exchange,
      pace,
      signal,
    });
    live.finish(label);
    return { ...started, view };
  });
  live.close();
  const begun = reported.filter((onboarding) => onboarding !== undefined);
  const result = onboardingsResult('onboard', begun, context);
  if (!options.wait) return { ...result, exitCode: EXIT.done };
  const goOn = begun.filter(({ view }) => view?.state === 'running');
  return {
    ...result,
    lines: [
      ...result.lines,
      ...goOn.map(({ jobId = '' }) => howToFollow(jobId)),
      ...(begun.length < jobs.length ? [`${jobs.length - begun.length} were not started any more.`] : []),
    ],
    document: { ...result.document, notStarted: jobs.length - begun.length },
  };
}
