import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
} from '@temporalio/client';
import {
  type BulkOnboardingInput,
  type BulkOnboardingSummary,
  type BulkOnboardingTiming,
  DEFAULT_BULK_TIMING,
} from '../../contract/bulk-onboarding.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import {
  bulkOnboardingWorkflowId,
  PRIORITY,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../contract/temporal.ts';
import { opaqueId } from '../../temporal/client.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import { accountOf } from '../client/credentials.ts';
import { memoOfEarlier } from '../memo-of-earlier.ts';

export type BulkOnboardingHandle = WorkflowHandle<
  (input: BulkOnboardingInput) => Promise<BulkOnboardingSummary>
>;

export interface StartedBulkOnboarding {
  handle: BulkOnboardingHandle;
  workflowId: string;
  /**
   * False when this job was started before; `handle` then refers to that one,
   * running or ended.
   */
  isNew: boolean;
  /**
   * In what the job that was started before differs; nothing came of this
   * start.
   */
  other?: keyof JobMemo;
}

/**
 * Lets us compare two jobs with the same id without a worker. Encrypted like
 * every payload.
 */
interface JobMemo {
  fileSha256: string;
  dryRun: boolean;
  facilityId?: string;
}

/**
 * A job and its file; what `timing` leaves out is as in `DEFAULT_BULK_TIMING`.
 */
export type BulkOnboardingRequest = Omit<
  BulkOnboardingInput,
  'exchange' | 'timing'
> & {
  jobId: string;
  timing?: Partial<BulkOnboardingTiming>;
};

/**
 * Starts the bulk onboarding of one job, once: the same job id of the same
 * account leads to the same workflow, as long as Temporal keeps it. The
 * workflow id is derived by HMAC, because a job id may contain a name. Throws
 * when Temporal cannot be reached.
 */
export async function startBulkOnboarding(
  client: Client,
  { jobId, ...rest }: BulkOnboardingRequest,
  { exchange, idHmacKey }: { exchange: ExchangeAccess; idHmacKey: string },
): Promise<StartedBulkOnboarding> {
  const workflowId = bulkOnboardingWorkflowId(
    bulkJobKey(jobId, exchange, idHmacKey),
  );
  const input: BulkOnboardingInput = {
    ...rest,
    exchange,
    timing: { ...DEFAULT_BULK_TIMING, ...rest.timing },
  };
  const handle = client.workflow.getHandle(workflowId) as BulkOnboardingHandle;
  const { dryRun, facilityId } = input;
  const memo: JobMemo = { fileSha256: input.file.sha256, dryRun, facilityId };
  const startedBefore = (
    kept: Record<string, unknown> = {},
  ): StartedBulkOnboarding => {
    // The memo of a job of 0.1.0 has no facility.
    const before: Partial<JobMemo> = { facilityId, ...kept };
    const other = (['fileSha256', 'dryRun', 'facilityId'] as const).find(
      (name) => before[name] !== memo[name],
    );
    return { handle, workflowId, isNew: false, other };
  };
  const earlier = await memoOfEarlier(handle);
  if (earlier !== undefined) return startedBefore(earlier);
  try {
    await client.workflow.start(WORKFLOW_TYPES.bulkOnboarding, {
      ...startOptions(input),
      workflowId,
      memo: { ...memo },
    });
    return { handle, workflowId, isNew: true };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return startedBefore(await memoOfEarlier(handle));
  }
}

export const bulkJobKey = (
  jobId: string,
  exchange: ExchangeAccess,
  idHmacKey: string,
): string =>
  opaqueId(
    idHmacKey,
    'bulk-onboarding-job',
    `${exchange.credentialRef} ${jobId}`,
  );

function startOptions(input: BulkOnboardingInput) {
  const accountId = accountOf(input.exchange);
  const what = input.dryRun ? 'Check a panel (dry run)' : 'Onboard a panel';
  return {
    taskQueue: TASK_QUEUES.orchestrator,
    args: [input] as [BulkOnboardingInput],
    workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
    priority: { priorityKey: PRIORITY.bulk, fairnessKey: accountId },
    staticSummary: `${what}: ${input.rows} rows`,
    staticDetails: [
      'Requests an upload URL, uploads the CSV, waits until the exchange has processed its rows (polling makes up for lost',
      'webhooks), and reads the result: which patients were created or updated, and which rows need corrections.',
      '',
      `${input.rows} rows, ${Math.ceil(input.file.sizeBytes / 1024)} KB; facility \`${input.facilityId ?? 'the only one'}\`.`,
    ].join('\n'),
    typedSearchAttributes:
      accountId === undefined
        ? []
        : [{ key: searchAttribute.accountId, value: accountId }],
  };
}
