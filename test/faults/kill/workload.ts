import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PatientOnboardingSummary } from '../../../src/contract/patient-onboarding.ts';
import {
  loadSamplePatients,
  type SamplePatient,
} from '../../../src/local-stack/sample-patients.ts';
import type { FaultRuleInput } from '../../../src/local-stack/simulator/faults.ts';
import { accountAccess } from '../../../src/orchestrator/client/credentials.ts';
import { startOnboarding } from '../../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import type { SettingsChange } from '../../../tools/simulator/settings.ts';
import {
  type CallAnswer,
  callGateway,
  type StackAccess,
  type StackAccount,
} from '../../support/stack.ts';

/**
 * How each person gets into the exchange. The six are all that the simulated
 * sources know.
 */
const BY_CREATE_WITH_QUERY = ['keith-kiehn', 'tamica-murazik'];
const BY_CREATE_THEN_QUERY = ['isaiah-weber', 'dannie-bogisich'];
const BY_ONBOARDING = ['adan-fuentes', 'lieselotte-howe'];
/** This person is sent twice at the same time, under two idempotency keys. */
const SENT_TWICE = 'keith-kiehn';

const SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true },
  lab: { enabled: true },
};

/**
 * Slow sources with small pages, so that each step takes long enough to be hit.
 */
export const SLOW_SOURCES: SettingsChange = {
  hie: {
    latencyMs: 60,
    pageSize: 40,
    jobLatencyMs: { min: 1_500, max: 2_500 },
  },
  pharmacy: { latencyMs: 60, pageSize: 15 },
  lab: { latencyMs: 60, pageSize: 25 },
};

export const FAILS_ITS_FIRST_JOB = {
  sample: 'dannie-bogisich',
  source: 'hie',
} as const;

/**
 * One query ends partial, and one source needs a second attempt, with or
 * without a kill.
 */
export const FAULTS_OF_SOURCES: FaultRuleInput[] = [
  {
    sample: 'isaiah-weber',
    source: 'lab',
    operation: 'match',
    fault: { type: 'status', status: 403, code: 'suppressed' },
  },
  {
    ...FAILS_ITS_FIRST_JOB,
    operation: 'job',
    times: 1,
    fault: { type: 'job-fails' },
  },
];

export interface MadeCall {
  path: string;
  body: unknown;
  idempotencyKey: string;
  answer: CallAnswer;
  /** Times that the call got no answer and was made again under its key. */
  unanswered: number;
}

export interface Workload {
  calls: MadeCall[];
  onboardings: { sample: string; summary: PatientOnboardingSummary }[];
}

/**
 * Brings in all six persons at once; resolves when every call is answered and
 * every onboarding has ended.
 */
export async function runWorkload(
  access: StackAccess,
  account: StackAccount,
  options: { timeoutMs: number },
): Promise<Workload> {
  const deadlineAt = Date.now() + options.timeoutMs;
  const calls: MadeCall[] = [];
  const call = async (path: string, body: unknown): Promise<CallAnswer> => {
    const made = await callUntilAnswered(
      access,
      account,
      path,
      body,
      deadlineAt,
    );
    calls.push(made);
    return made.answer;
  };
  const create = (key: string, more: object = {}) =>
    call(`patient?facilityId=${account.facilityId}`, {
      ...sampleOf(key).createBody,
      ...more,
    });

  const [onboardings] = await Promise.all([
    Promise.all(
      BY_ONBOARDING.map((key) => onboard(access, account, key, deadlineAt)),
    ),
    ...BY_CREATE_WITH_QUERY.map((key) =>
      create(key, { networkQuery: { sources: SOURCES } }),
    ),
    create(SENT_TWICE),
    ...BY_CREATE_THEN_QUERY.map(async (key) => {
      const { body } = await create(key);
      await call(`network/query?patientId=${body.id}`, { sources: SOURCES });
    }),
  ]);
  return { calls, onboardings };
}

/**
 * What a careful caller does: no answer, or one that says "later", is followed
 * by the same call under the same key.
 */
export async function callUntilAnswered(
  { connection }: StackAccess,
  account: StackAccount,
  path: string,
  body: unknown,
  deadlineAt: number,
): Promise<MadeCall> {
  const idempotencyKey = randomUUID();
  for (let unanswered = 0; ; ) {
    const answer = await callGateway(connection, account, 'POST', path, {
      body,
      idempotencyKey,
    }).catch(() => undefined);
    if (answer !== undefined && answer.status < 300)
      return { path, body, idempotencyKey, answer, unanswered };
    const isLater =
      answer === undefined || answer.status >= 500 || answer.status === 409;
    if (!isLater || Date.now() > deadlineAt)
      throw new Error(
        `POST ${path}: ${answer === undefined ? 'no answer' : JSON.stringify(answer.body)}`,
      );
    if (answer === undefined) unanswered += 1;
    await sleep(200);
  }
}

async function onboard(
  { temporal, secrets }: StackAccess,
  account: StackAccount,
  key: string,
  deadlineAt: number,
): Promise<{ sample: string; summary: PatientOnboardingSummary }> {
  const request = {
    jobId: `kill/${account.accountId}/${key}`,
    facilityId: account.facilityId,
    patient: sampleOf(key).createBody,
    sources: SOURCES,
  };
  const options = {
    exchange: accountAccess(account.accountId),
    idHmacKey: secrets.idHmacKey,
  };
  const { handle } = await whileTemporalIsAway(
    () =>
      temporal.withDeadline(Date.now() + 5_000, () =>
        startOnboarding(temporal, request, options),
      ),
    deadlineAt,
  );
  const summary = await whileTemporalIsAway(() => handle.result(), deadlineAt);
  return { sample: key, summary };
}

/**
 * Starting twice is one start, and a result can be asked for as often as one
 * likes.
 */
export async function whileTemporalIsAway<T>(
  ask: () => Promise<T>,
  deadlineAt: number,
): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isFinal =
        error instanceof Error && error.name === 'WorkflowFailedError';
      if (isFinal || Date.now() > deadlineAt) throw error;
      await sleep(200);
    }
  }
}

export function sampleOf(key: string): SamplePatient {
  const sample = loadSamplePatients().find(
    (candidate) => candidate.key === key,
  );
  if (sample === undefined) throw new Error(`no sample ${key}`);
  return sample;
}
