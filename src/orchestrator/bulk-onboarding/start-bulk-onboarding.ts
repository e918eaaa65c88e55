import { type Client, WorkflowExecutionAlreadyStartedError, type WorkflowHandle } from '@temporalio/client';
import {
  type BulkOnboardingInput,
  type BulkOnboardingSummary,
  type BulkOnboardingTiming,
  DEFAULT_BULK_TIMING,
} from '../../contract/bulk-onboarding.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import { bulkOnboardingWorkflowId, PRIORITY, TASK_QUEUES, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import { opaqueId } from '../../temporal/client.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import { accountOf } from '../client/credentials.ts';

export type BulkOnboardingHandle = WorkflowHandle<
  (input: BulkOnboardingInput) => Promise<BulkOnboardingSummary>
>;

export interface StartedBulkOnboarding {
  handle: BulkOnboardingHandle;
  workflowId: string;
  /**
   * `joined`: this job was started before with the same file, and `handle` refers to it, running or ended. `other-file`:
   * it was started before with a different file. `other-mode`: the two starts differ in `dryRun`.
   */
  kind: 'new' | 'joined' | 'other-file' | 'other-mode';
}

/** Lets us compare two jobs with the same id without a worker. Encrypted like every payload. */
interface JobMemo {
  fileSha256: string;
  dryRun: boolean;
}

/** A job and its file; what `timing` leaves out is as in `DEFAULT_BULK_TIMING`. */
export type BulkOnboardingRequest = Omit<BulkOnboardingInput, 'exchange' | 'timing'> & {
  jobId: string;
  timing?: Partial<BulkOnboardingTiming>;
};

/**
 * Starts the bulk onboarding of one job, once: the same job id of the same account leads to the same workflow, as long as
 * Temporal keeps it. The workflow id is derived by HMAC, because a job id may contain a name. Throws when Temporal cannot
 * be reached.
 */
export async function startBulkOnboarding(
  client: Client,
  { jobId, ...rest }: BulkOnboardingRequest,
  { exchange, idHmacKey }: { exchange: ExchangeAccess; idHmacKey: string },
): Promise<StartedBulkOnboarding> {
  const workflowId = bulkOnboardingWorkflowId(bulkJobKey(jobId, exchange, idHmacKey));
  const input: BulkOnboardingInput = {
    ...rest,
    exchange,
    timing: { ...DEFAULT_BULK_TIMING, ...rest.timing },
  };
  const handle = client.workflow.getHandle(workflowId) as BulkOnboardingHandle;
  const memo: JobMemo = { fileSha256: input.file.sha256, dryRun: input.dryRun };
  try {
    await client.workflow.start(WORKFLOW_TYPES.bulkOnboarding, {
      ...startOptions(input),
      workflowId,
      memo: { ...memo },
    });
    return { handle, workflowId, kind: 'new' };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const before = (await handle.describe()).memo as Partial<JobMemo> | undefined;
    if (before?.fileSha256 !== memo.fileSha256) return { handle, workflowId, kind: 'other-file' };
    return { handle, workflowId, kind: before.dryRun === memo.dryRun ? 'joined' : 'other-mode' };
  }
}

export const bulkJobKey = (jobId: string, exchange: ExchangeAccess, idHmacKey: string): string =>
  opaqueId(idHmacKey, 'bulk-onboarding-job', `${exchange.credentialRef} ${jobId}`);

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
      accountId === undefined ? [] : [{ key: searchAttribute.accountId, value: accountId }],
  };
}
