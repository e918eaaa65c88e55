import fc from 'fast-check';
import type {
  PatientOnboardingStatus,
  PatientOnboardingSummary,
} from '../../../src/contract/patient-onboarding.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../../src/contract/primitives.ts';
import { accountAccess } from '../../../src/orchestrator/client/credentials.ts';
import {
  type StartedOnboarding,
  startOnboarding,
} from '../../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import { command, type Model, newPerson, type World } from './world.ts';

type SourceState = 'running' | 'completed' | 'failed';

interface Job {
  body: ReturnType<typeof newPerson>;
  sources: readonly SourceType[];
  /** Set once it is started. */
  started?: StartedOnboarding;
  isCancelled: boolean;
  states: Map<SourceType, SourceState>;
  /** Whether the caller created the patient before. */
  isKnown: boolean;
}

interface Outcome {
  status: string;
  created: boolean;
  queries: number;
  sources: Record<string, string>;
}

interface OnboardingModelState {
  jobs: Job[];
}

const JOBS = 3;
const job = fc.nat(JOBS - 1);

const jobAt = (
  { jobs }: Readonly<OnboardingModelState>,
  index: number,
): Job => {
  const found = jobs[index];
  if (found === undefined) throw new Error('no such job');
  return found;
};
const isRunning = ({ started, isCancelled, states }: Job) =>
  started !== undefined &&
  !isCancelled &&
  [...states.values()].includes('running');

const outcomeOf = (states: readonly SourceState[]) => {
  if (!states.includes('completed')) return 'failed';
  return states.includes('failed') ? 'partial' : 'completed';
};

const requestOf = (
  index: number,
  { body, sources }: Job,
  { account }: World,
) => ({
  jobId: `model/${account.accountId}/${index}`,
  facilityId: account.facilityId,
  patient: body as never,
  sources: [...sources],
});

/** Starting a job again, running or ended, is the same onboarding. */
const start = job.map((index) =>
  command<OnboardingModelState>(
    `start(${index})`,
    () => true,
    async (model, world) => {
      const target = jobAt(model, index);
      const started = await startOnboarding(
        world.stack.temporal,
        requestOf(index, target, world),
        {
          exchange: accountAccess(world.account.accountId),
          idHmacKey: world.stack.secrets.idHmacKey,
        },
      );
      if (started.isNew !== (target.started === undefined))
        throw new Error('A job was not started exactly once');
      if (!started.isNew) return;
      target.started = started;
      for (const type of target.sources) target.states.set(type, 'running');
    },
  ),
);

const createBefore = job.map((index) =>
  command<OnboardingModelState>(
    `create the patient before(${index})`,
    (model) =>
      jobAt(model, index).started === undefined && !jobAt(model, index).isKnown,
    async (model, world) => {
      const target = jobAt(model, index);
      const path = `patient?facilityId=${world.account.facilityId}`;
      await world.mustCall([201], 'POST', path, { body: target.body });
      target.isKnown = true;
    },
  ),
);

async function statusOf(
  target: Job,
): Promise<PatientOnboardingStatus | undefined> {
  return target.started?.handle
    .query<PatientOnboardingStatus>('status')
    .catch(() => undefined);
}

/** The id of the query that the onboarding has started. */
async function queryOf(target: Job, world: World): Promise<string> {
  await world.eventually(
    'the query',
    async () => (await statusOf(target))?.requestIds.length,
    1,
  );
  const [requestId] = (await statusOf(target))?.requestIds ?? [];
  if (requestId === undefined) throw new Error('The onboarding has no query');
  return requestId;
}

interface RunningSource {
  target: Job;
  type: SourceType;
}

const running = ({ jobs }: Readonly<OnboardingModelState>): RunningSource[] =>
  jobs
    .filter(isRunning)
    .flatMap((target) =>
      target.sources
        .filter((type) => target.states.get(type) === 'running')
        .map((type) => ({ target, type })),
    );

/** A command about one of the sources that run. */
const onRunning = (
  name: string,
  end: SourceState,
  run: (
    of: RunningSource & { requestId: string },
    world: World,
  ) => Promise<void>,
) =>
  fc.nat(8).map((number) =>
    command<OnboardingModelState>(
      `${name}(${number})`,
      (model) => running(model).length > 0,
      async (model, world) => {
        const all = running(model);
        const of = all[number % all.length];
        if (of === undefined) return;
        await run({ ...of, requestId: await queryOf(of.target, world) }, world);
        of.target.states.set(of.type, end);
      },
    ),
  );

const endJob = (
  name: string,
  state: 'answered' | 'refused',
  callbacks: number,
) =>
  onRunning(
    name,
    state === 'answered' ? 'completed' : 'failed',
    async ({ target, type, requestId }, world) => {
      const family = target.body.lastName;
      const held = await world.jobOf(requestId, type, 1, family);
      world.sources.hold(type, family, 1);
      held.state = state;
      for (let sent = 0; sent < callbacks; sent += 1)
        await world.sources.callBack(held);
    },
  );

const giveUp = onRunning('give up', 'failed', ({ type, requestId }, world) =>
  world.steer(`network/query/${requestId}/source/${type}/cancel`, 200),
);

const cancel = job.map((index) =>
  command<OnboardingModelState>(
    `cancel(${index})`,
    (model) => isRunning(jobAt(model, index)),
    async (model) => {
      const target = jobAt(model, index);
      await target.started?.handle.cancel();
      target.isCancelled = true;
    },
  ),
);

/**
 * What the caller of the exchange sees of the onboarded person: one patient,
 * and one query in the expected state.
 */
async function compareExchange(
  target: Job,
  index: number,
  world: World,
): Promise<void> {
  const { lastName } = target.body;
  const patients = async () => {
    const { body } = await world.mustCall(
      [200],
      'GET',
      `patient?filters=${lastName}`,
    );
    return body.patients.map(({ id }: { id: string }) => id) as string[];
  };
  const count =
    target.started !== undefined && !target.isCancelled ? 1 : undefined;
  if (count !== undefined)
    await world.eventually(
      `patients of job ${index}`,
      async () => (await patients()).length,
      1,
    );
  const found = await patients();
  if (found.length > 1)
    throw new Error(`job ${index} has ${found.length} patients`);
  if (found.length === 0 || target.started === undefined) return;
  const states = [...target.states.values()];
  // A cancellation may come before the query; if it comes later, it ends the
  // query.
  const ended = states.map((state) => (state === 'running' ? 'failed' : state));
  const expected = target.isCancelled
    ? outcomeOf(ended)
    : states.includes('running')
      ? 'in-progress'
      : outcomeOf(states);
  await world.eventually(
    `query of job ${index}`,
    async () => {
      const { body } = await world.mustCall(
        [200],
        'GET',
        `network/query?patientId=${found[0]}`,
      );
      const queries = body.queries.map(
        ({ status }: { status: string }) => status,
      ) as string[];
      return target.isCancelled && queries.length === 0
        ? expected
        : queries.join();
    },
    expected,
  );
}

async function compare(
  { jobs }: OnboardingModelState,
  world: World,
): Promise<void> {
  for (const [index, target] of jobs.entries()) {
    await compareExchange(target, index, world);
    const { started, states, isKnown, isCancelled } = target;
    if (started === undefined) continue;
    const name = `onboarding ${index}`;
    if (isCancelled) {
      await world.eventually(
        name,
        async () => (await started.handle.describe()).status.name,
        'CANCELLED',
      );
    } else if (isRunning(target)) {
      const running = async () => {
        const now = await statusOf(target);
        return (
          now && {
            phase: now.phase,
            sources: Object.fromEntries(
              now.sources.map((each) => [each.type, each.state]),
            ),
          }
        );
      };
      await world.eventually(name, running, {
        phase: 'querying',
        sources: Object.fromEntries(states),
      });
    } else {
      const ended = async () => summaryOf(await started.handle.result());
      const expected: Outcome = {
        status: outcomeOf([...states.values()]),
        created: !isKnown,
        queries: 1,
        sources: Object.fromEntries(states),
      };
      await world.eventually(name, ended, expected);
    }
  }
}

const summaryOf = ({
  status,
  created,
  requestIds,
  sources,
}: PatientOnboardingSummary): Outcome => ({
  status,
  created,
  queries: requestIds.length,
  sources: Object.fromEntries(
    sources.map(({ type, outcome }) => [type, outcome]),
  ),
});

export const ONBOARDING_MODEL: Model<OnboardingModelState> = {
  async begin(world) {
    const jobs = [['hie', 'lab'], ['pharmacy'], SOURCE_TYPES] as const;
    return {
      jobs: jobs.map((sources) => {
        const body = newPerson();
        for (const type of SOURCE_TYPES)
          world.sources.treat(type, body.lastName, 'accepts');
        return {
          body,
          sources,
          isCancelled: false,
          states: new Map(),
          isKnown: false,
        };
      }),
    };
  },
  commands: [
    start,
    start,
    createBefore,
    endJob('answer', 'answered', 1),
    endJob('answer twice', 'answered', 2),
    endJob('answer silently', 'answered', 0),
    endJob('refuse', 'refused', 1),
    giveUp,
    cancel,
  ],
  compare,
  async end(model, world) {
    for (const target of model.jobs)
      if (isRunning(target)) {
        await target.started?.handle.cancel();
        target.isCancelled = true;
      }
    await compare(model, world);
  },
};
