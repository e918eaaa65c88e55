import { setTimeout as sleep } from 'node:timers/promises';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import fc from 'fast-check';
import type { CohortMonitoringStatus } from '../../../src/contract/cohort-monitoring.ts';
import { cohortMonitoringWorkflowId } from '../../../src/contract/temporal.ts';
import { until } from '../kill/until.ts';
import { command, type Model, newPerson, type World } from './world.ts';

interface Person {
  id: string;
  isDeleted: boolean;
  isOptedOut: boolean;
  hasTreatment: boolean;
  /** Queries of hie, all of them within the period that is monitored. */
  queries: number;
}

interface Cohort {
  id: string;
  name: string;
  purposeOfUse: 'treatment' | 'operations';
  isMonitored: boolean;
  members: Set<Person>;
}

interface CohortModelState {
  persons: Person[];
  cohorts: Cohort[];
}

const PERSONS = 4;
const person = fc.nat(PERSONS - 1);
const number = fc.nat(7);
const NAMES = ['North', 'South', 'East'];

const personAt = (
  { persons }: Readonly<CohortModelState>,
  index: number,
): Person => {
  const found = persons[index];
  if (found === undefined) throw new Error('no such person');
  return found;
};
const cohortAt = (
  { cohorts }: Readonly<CohortModelState>,
  index: number,
): Cohort => {
  const found = cohorts[index % cohorts.length];
  if (found === undefined) throw new Error('no such cohort');
  return found;
};
const isBarred = ({ hasTreatment }: Person, { purposeOfUse }: Cohort) =>
  purposeOfUse === 'treatment' && !hasTreatment;
const settings = (isMonitored: boolean) => ({
  settings: {
    monitoring: { hie: { enabled: isMonitored, frequency: 'weekly' } },
  },
});

const create = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.constantFrom<Cohort['purposeOfUse']>('treatment', 'operations'),
    fc.boolean(),
  )
  .map(([name, purposeOfUse, isMonitored]) =>
    command<CohortModelState>(
      `create(${name}, ${purposeOfUse}, ${isMonitored ? 'monitored' : 'not monitored'})`,
      () => true,
      async ({ cohorts }, world) => {
        const isTaken = cohorts.some((each) => each.name === name);
        const body = { name, purposeOfUse, ...settings(isMonitored) };
        const answer = await world.mustCall(
          [isTaken ? 400 : 201],
          'POST',
          'cohort',
          { body },
        );
        if (!isTaken)
          cohorts.push({
            id: answer.body.id,
            name,
            purposeOfUse,
            isMonitored,
            members: new Set(),
          });
      },
    ),
  );

const onCohort = (
  name: string,
  run: (cohort: Cohort, world: World, model: CohortModelState) => Promise<void>,
) =>
  number.map((index) =>
    command<CohortModelState>(
      `${name}(${index})`,
      ({ cohorts }) => cohorts.length > 0,
      (model, world) => run(cohortAt(model, index), world, model),
    ),
  );

const monitor = (isMonitored: boolean) =>
  onCohort(
    isMonitored ? 'monitor' : 'stop monitoring',
    async (cohort, world) => {
      await world.mustCall([200], 'PATCH', `cohort/${cohort.id}`, {
        body: settings(isMonitored),
      });
      cohort.isMonitored = isMonitored;
    },
  );

/**
 * A cohort that is switched to treatment loses those without a treatment
 * relationship.
 */
const toTreatment = onCohort('switch to treatment', async (cohort, world) => {
  await world.mustCall([200], 'PATCH', `cohort/${cohort.id}`, {
    body: { purposeOfUse: 'treatment' },
  });
  cohort.purposeOfUse = 'treatment';
  for (const member of cohort.members)
    if (isBarred(member, cohort)) cohort.members.delete(member);
});

const remove = onCohort('delete', async (cohort, world, model) => {
  await world.mustCall(
    [cohort.members.size > 0 ? 400 : 204],
    'DELETE',
    `cohort/${cohort.id}`,
  );
  if (cohort.members.size === 0)
    model.cohorts = model.cohorts.filter((each) => each !== cohort);
});

const addAll = onCohort('add all', async (cohort, world, { persons }) => {
  await world.mustCall([200], 'POST', `cohort/${cohort.id}/patient`, {
    body: { allPatients: true },
  });
  for (const each of persons)
    if (!each.isDeleted && !isBarred(each, cohort)) cohort.members.add(each);
});

const removeAll = onCohort('remove all', async (cohort, world) => {
  await world.mustCall([200], 'DELETE', `cohort/${cohort.id}/patient`, {
    body: { allPatients: true },
  });
  cohort.members.clear();
});

/** Adding by id is all or nothing. */
const add = fc
  .tuple(number, fc.uniqueArray(person, { minLength: 1 }))
  .map(([index, people]) =>
    command<CohortModelState>(
      `add(${index}, ${people})`,
      ({ cohorts }) => cohorts.length > 0,
      async (model, world) => {
        const cohort = cohortAt(model, index);
        const added = people.map((each) => personAt(model, each));
        const isUnknown = added.some(({ isDeleted }) => isDeleted);
        const isRefused = added.some((each) => isBarred(each, cohort));
        const status = isUnknown ? 404 : isRefused ? 400 : 200;
        const body = { patientIds: added.map(({ id }) => id) };
        await world.mustCall([status], 'POST', `cohort/${cohort.id}/patient`, {
          body,
        });
        if (status === 200) for (const each of added) cohort.members.add(each);
      },
    ),
  );

const leave = fc.tuple(number, person).map(([index, who]) =>
  command<CohortModelState>(
    `remove(${index}, ${who})`,
    ({ cohorts }) => cohorts.length > 0,
    async (model, world) => {
      const cohort = cohortAt(model, index);
      const gone = personAt(model, who);
      const body = { patientIds: [gone.id] };
      await world.mustCall([200], 'DELETE', `cohort/${cohort.id}/patient`, {
        body,
      });
      cohort.members.delete(gone);
    },
  ),
);

const onPerson = (
  name: string,
  run: (target: Person, world: World, model: CohortModelState) => Promise<void>,
) =>
  person.map((index) =>
    command<CohortModelState>(
      `${name}(${index})`,
      (model) => !personAt(model, index).isDeleted,
      (model, world) => run(personAt(model, index), world, model),
    ),
  );

const setTreatment = (hasTreatment: boolean) =>
  onPerson(
    hasTreatment ? 'give consent' : 'withdraw consent',
    async (target, world, { cohorts }) => {
      const path = `patient/${target.id}/treatment-relationship?treatmentRelationship=${hasTreatment}`;
      await world.mustCall([200], 'PUT', path);
      target.hasTreatment = hasTreatment;
      for (const cohort of cohorts)
        if (isBarred(target, cohort)) cohort.members.delete(target);
    },
  );

const optOut = onPerson('opt out', async (target, world) => {
  await world.mustCall(
    [200],
    'PUT',
    `patient/${target.id}/hie-opt-out?hieOptOut=true`,
  );
  target.isOptedOut = true;
});

const deletePerson = onPerson(
  'delete the patient',
  async (target, world, { cohorts }) => {
    await world.mustCall([204], 'DELETE', `patient/${target.id}`);
    target.isDeleted = true;
    for (const { members } of cohorts) members.delete(target);
  },
);

const query = onPerson('query', async (target, world) => {
  const body = { sources: ['hie'] };
  await world.mustCall([200], 'POST', `network/query?patientId=${target.id}`, {
    body,
  });
  target.queries += 1;
});

/**
 * Has the schedule of a monitored cohort start its run now; every member is
 * queried unless it was in this period.
 */
const run = fc.tuple(number, fc.boolean()).map(([index, isKilled]) =>
  command<CohortModelState>(
    `run monitoring(${index}${isKilled ? ', the worker is killed' : ''})`,
    (model) => model.cohorts.length > 0 && cohortAt(model, index).isMonitored,
    async (model, world) => {
      const cohort = cohortAt(model, index);
      const schedule = world.stack.temporal.schedule.getHandle(
        cohortMonitoringWorkflowId(cohort.id, 'hie'),
      );
      const actions = async () =>
        (await schedule.describe()).info.recentActions;
      const before = await startedBefore(actions);
      // A run is identified by its nominal time in whole seconds: a second one
      // in the same second would be the same run.
      await sleep(1_000);
      await schedule.trigger(ScheduleOverlapPolicy.SKIP);
      let workflowId = '';
      await until(
        async () => {
          workflowId =
            (await actions()).at(-1)?.action.workflow.workflowId ?? '';
          return workflowId !== '' && workflowId !== before;
        },
        { timeoutMs: 240_000, everyMs: 100 },
      );
      if (workflowId === '' || workflowId === before)
        throw new Error('The schedule started no run');
      if (isKilled) await world.kill('worker');
      const handle =
        world.stack.temporal.workflow.getHandle<
          () => Promise<CohortMonitoringStatus>
        >(workflowId);
      const { state, started } = await handle.result();
      const due = [...cohort.members].filter(
        ({ isOptedOut, queries }) => !isOptedOut && queries === 0,
      );
      if (state !== 'completed' || started !== due.length)
        throw new Error(
          `The run is ${state} and started ${started} queries; ${due.length} were due`,
        );
      for (const each of due) each.queries += 1;
    },
  ),
);

/**
 * Waits for the schedule, which follows the settings; the id of its last run.
 */
async function startedBefore(
  actions: () => Promise<{ action: { workflow: { workflowId: string } } }[]>,
): Promise<string | undefined> {
  let last: string | undefined;
  const isThere = await until(
    async () => {
      last = (await actions()).at(-1)?.action.workflow.workflowId;
      return true;
    },
    { timeoutMs: 240_000, everyMs: 100 },
  );
  if (!isThere) throw new Error('A monitored cohort has no schedule');
  return last;
}

const idsOf = (list: Iterable<{ id: string }>) =>
  [...list].map(({ id }) => id).sort();

async function compare(
  { persons, cohorts }: CohortModelState,
  world: World,
): Promise<void> {
  const { body } = await world.mustCall([200], 'GET', 'cohort');
  const listed = body.cohorts as (Cohort & {
    size: number;
    settings: { monitoring: { hie: { enabled: boolean } } };
  })[];
  const seen = listed.map(
    ({ id, size, settings: { monitoring } }) =>
      `${id} ${size} ${monitoring.hie.enabled}`,
  );
  const expected = cohorts.map(
    ({ id, members, isMonitored }) => `${id} ${members.size} ${isMonitored}`,
  );
  if (seen.sort().join() !== expected.sort().join())
    throw new Error(`cohorts ${expected} expected, listed ${seen}`);
  for (const { id, members } of cohorts) {
    const { body: page } = await world.mustCall(
      [200],
      'GET',
      `cohort/${id}/patient`,
    );
    if (idsOf(page.patients).join() !== idsOf(members).join())
      throw new Error(
        `members ${idsOf(members)} expected, listed ${idsOf(page.patients)}`,
      );
  }
  for (const { id, isDeleted, queries, isOptedOut } of persons) {
    if (isDeleted) continue;
    const read = async () => {
      const { body: list } = await world.mustCall(
        [200],
        'GET',
        `network/query?patientId=${id}`,
      );
      const open = list.queries.filter(
        ({ status }: { status: string }) => status === 'in-progress',
      ).length;
      return { queries: list.queries.length, open };
    };
    await world.eventually(
      `queries of ${isOptedOut ? 'an opted-out' : 'a'} patient`,
      read,
      {
        queries,
        open: 0,
      },
    );
  }
}

export const COHORT_MODEL: Model<CohortModelState> = {
  /** A monitored cohort of everybody, so that most commands have an effect. */
  async begin(world) {
    const path = `patient?facilityId=${world.account.facilityId}`;
    const created = Array.from(
      { length: PERSONS },
      async (): Promise<Person> => {
        const { body } = await world.mustCall([201], 'POST', path, {
          body: newPerson(),
        });
        return {
          id: body.id,
          isDeleted: false,
          isOptedOut: false,
          hasTreatment: true,
          queries: 0,
        };
      },
    );
    const persons = await Promise.all(created);
    const body = { name: 'Everybody', ...settings(true) };
    const { body: cohort } = await world.mustCall([201], 'POST', 'cohort', {
      body,
    });
    await world.mustCall([200], 'POST', `cohort/${cohort.id}/patient`, {
      body: { allPatients: true },
    });
    const everybody: Cohort = {
      id: cohort.id,
      name: body.name,
      purposeOfUse: 'treatment',
      isMonitored: true,
      members: new Set(persons),
    };
    return { persons, cohorts: [everybody] };
  },
  commands: [
    create,
    create,
    monitor(true),
    monitor(false),
    toTreatment,
    remove,
    add,
    add,
    addAll,
    removeAll,
    leave,
    setTreatment(false),
    setTreatment(true),
    optOut,
    deletePerson,
    query,
    run,
    run,
    run,
  ],
  compare,
  /** A schedule runs exactly for each monitored cohort. */
  async end(model, world) {
    await compare(model, world);
    for (const { id, isMonitored } of model.cohorts) {
      const schedule = world.stack.temporal.schedule.getHandle(
        cohortMonitoringWorkflowId(id, 'hie'),
      );
      const runs = () =>
        schedule.describe().then(
          ({ state }) => !state.paused,
          () => false,
        );
      await world.eventually(`the schedule of cohort ${id}`, runs, isMonitored);
    }
  },
};
