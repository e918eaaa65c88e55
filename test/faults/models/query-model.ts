import fc from 'fast-check';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../../src/contract/primitives.ts';
import type { Manner } from './held-sources.ts';
import { command, type Model, newPerson, type World } from './world.ts';

interface AskedSource {
  state: 'running' | 'completed' | 'failed';
  attempt: number;
  /** Webhooks that announced an end. */
  ends: number;
}

interface Query {
  requestId: string;
  sources: Map<SourceType, AskedSource>;
}

interface Person {
  id: string;
  body: { lastName: string };
  isOptedOut: boolean;
  queries: Query[];
  manners: Map<SourceType, Manner>;
  /** Resources of each source in the record. */
  record: Map<SourceType, number>;
}

export interface QueryModelState {
  persons: Person[];
  deleted: Person[];
  /**
   * What was sent under each idempotency key, and the query that was answered;
   * forgotten with the patient.
   */
  keys: Map<number, { path: string; body: unknown; requestId: string }>;
}

const PERSONS = 2;
const KEYS = 3;

const personOf = (
  { persons }: Readonly<QueryModelState>,
  index: number,
): Person => {
  const person = persons[index];
  if (person === undefined) throw new Error('no such person');
  return person;
};
const runningAt = ({ queries }: Person, source: SourceType) =>
  queries.find(({ sources }) => sources.get(source)?.state === 'running');
/** What a source makes of being asked: nothing yet, or an end at once. */
function ask(person: Person, asked: AskedSource, source: SourceType): void {
  const manner = person.manners.get(source) ?? 'accepts';
  asked.state =
    manner === 'accepts'
      ? 'running'
      : manner === 'unknown'
        ? 'completed'
        : 'failed';
  if (manner !== 'accepts') asked.ends += 1;
}

function end(asked: AskedSource, state: 'completed' | 'failed'): void {
  asked.state = state;
  asked.ends += 1;
}

const overall = (query: Query): string => {
  const states = [...query.sources.values()].map(({ state }) => state);
  if (states.includes('running')) return 'in-progress';
  if (!states.includes('completed')) return 'failed';
  return states.includes('failed') ? 'partial' : 'completed';
};

const person = fc.nat(PERSONS - 1);
const source = fc.constantFrom(...SOURCE_TYPES);

/**
 * E2, under a key of its own, a key that was used, or none. A used key with
 * another request is a 422.
 */
const start = fc
  .tuple(
    person,
    fc.subarray([...SOURCE_TYPES], { minLength: 1 }),
    fc.option(fc.nat(KEYS - 1)),
  )
  .map(([index, types, key]) =>
    command<QueryModelState>(
      `start(${index}, ${types}, key ${key})`,
      (model) => {
        const target = personOf(model, index);
        // Two jobs of a source about one person could not be told apart.
        return (
          model.keys.has(key ?? -1) ||
          types.every((type) => runningAt(target, type) === undefined)
        );
      },
      async (model, world) => {
        const target = personOf(model, index);
        const path = `network/query?patientId=${target.id}`;
        const body = { sources: types };
        const options = {
          body,
          ...(key !== null && { idempotencyKey: `key-${key}` }),
        };
        const before = key === null ? undefined : model.keys.get(key);
        if (before !== undefined) {
          const isSame =
            before.path === path &&
            JSON.stringify(before.body) === JSON.stringify(body);
          if (!isSame) await world.mustCall([422], 'POST', path, options);
          return;
        }
        const { body: started } = await world.mustCall(
          [200],
          'POST',
          path,
          options,
        );
        if (key !== null)
          model.keys.set(key, { path, body, requestId: started.requestId });
        const query: Query = {
          requestId: started.requestId,
          sources: new Map(),
        };
        for (const type of types) {
          if (type === 'hie' && target.isOptedOut) continue;
          const asked: AskedSource = { state: 'running', attempt: 1, ends: 0 };
          ask(target, asked, type);
          query.sources.set(type, asked);
        }
        target.queries.push(query);
      },
    ),
  );

/**
 * The same request under the same key, at any time, is answered with the query
 * that it started.
 */
const repeat = fc.nat(KEYS - 1).map((key) =>
  command<QueryModelState>(
    `repeat(key ${key})`,
    ({ keys }) => keys.has(key),
    async ({ keys }, world) => {
      const { path, body, requestId } = keys.get(key) ?? {
        path: '',
        body: {},
        requestId: '',
      };
      const { body: again } = await world.mustCall([200], 'POST', path, {
        body,
        idempotencyKey: `key-${key}`,
      });
      if (again.requestId !== requestId)
        throw new Error('A repeated request started another query');
    },
  ),
);

/** How a source treats the person the next time that it is asked. */
const treat = fc
  .tuple(
    person,
    source,
    fc.constantFrom<Manner>('accepts', 'accepts', 'unknown', 'refuses'),
  )
  .map(([index, type, manner]) =>
    command<QueryModelState>(
      `treat(${index}, ${type}, ${manner})`,
      () => true,
      async (model, { sources }) => {
        const target = personOf(model, index);
        // A query that was just started may not have reached the source yet.
        if (runningAt(target, type) !== undefined) return;
        target.manners.set(type, manner);
        sources.treat(type, target.body.lastName, manner);
      },
    ),
  );

interface Running {
  target: Person;
  query: Query;
  asked: AskedSource;
  type: SourceType;
}

const running = ({ persons }: Readonly<QueryModelState>): Running[] =>
  persons.flatMap((target) =>
    target.queries.flatMap((query) =>
      [...query.sources]
        .filter(([, { state }]) => state === 'running')
        .map(([type, asked]) => ({ target, query, asked, type })),
    ),
  );

/** A command about one of the sources that run. */
const onRunning = (
  name: string,
  run: (of: Running, world: World) => Promise<void>,
  isPossible: (asked: AskedSource) => boolean = () => true,
) =>
  fc.nat(9).map((number) =>
    command<QueryModelState>(
      `${name}(${number})`,
      (model) => running(model).some(({ asked }) => isPossible(asked)),
      async (model, world) => {
        const possible = running(model).filter(({ asked }) =>
          isPossible(asked),
        );
        const of = possible[number % possible.length];
        if (of !== undefined) await run(of, world);
      },
    ),
  );

const jobOf = ({ target, query, asked, type }: Running, world: World) =>
  world.jobOf(query.requestId, type, asked.attempt, target.body.lastName);

const answer = (resources: number, callbacks: 0 | 1 | 2) =>
  onRunning(
    `answer ${resources}, ${callbacks} callbacks`,
    async (of, world) => {
      const { target, asked, type } = of;
      const job = await jobOf(of, world);
      world.sources.hold(type, target.body.lastName, resources);
      job.state = 'answered';
      for (let sent = 0; sent < callbacks; sent += 1)
        await world.sources.callBack(job);
      target.record.set(type, resources);
      end(asked, 'completed');
    },
  );

const callBackEarly = onRunning('call back early', async (of, world) => {
  await world.sources.callBack(await jobOf(of, world));
});

const refuseJob = onRunning('refuse the job', async (of, world) => {
  const job = await jobOf(of, world);
  job.state = 'refused';
  await world.sources.callBack(job);
  end(of.asked, 'failed');
});

/** A further attempt follows after some seconds. */
const failJob = onRunning(
  'fail the job',
  async (of, world) => {
    const job = await jobOf(of, world);
    job.state = 'failed';
    await world.sources.callBack(job);
    of.asked.attempt += 1;
    await jobOf(of, world);
  },
  ({ attempt }) => attempt === 1,
);

const failAndGiveUp = onRunning(
  'fail the job and give up',
  async (of, world) => {
    const job = await jobOf(of, world);
    job.state = 'failed';
    await world.sources.callBack(job);
    await world.steer(
      `network/query/${of.query.requestId}/source/${of.type}/cancel`,
      200,
    );
    end(of.asked, 'failed');
    of.asked.attempt += 1;
  },
  ({ attempt }) => attempt === 1,
);

/**
 * A command about any query that was ever started, also one of a deleted
 * patient.
 */
const onAny = (
  name: string,
  run: (
    of: { target: Person; query: Query; type: SourceType; isDeleted: boolean },
    world: World,
  ) => Promise<void>,
) =>
  fc.tuple(fc.nat(9), source).map(([number, type]) =>
    command<QueryModelState>(
      `${name}(query ${number}, ${type})`,
      ({ persons, deleted }) =>
        [...persons, ...deleted].some(({ queries }) => queries.length > 0),
      async ({ persons, deleted }, world) => {
        const all = [...persons, ...deleted].flatMap((target) =>
          target.queries.map((query) => ({
            target,
            query,
            type,
            isDeleted: deleted.includes(target),
          })),
        );
        const of = all[number % all.length];
        if (of !== undefined) await run(of, world);
      },
    ),
  );

const giveUp = onAny('give up', async ({ query, type, isDeleted }, world) => {
  const path = `network/query/${query.requestId}/source/${type}/cancel`;
  const asked = query.sources.get(type);
  if (isDeleted) return world.steer(path, 404);
  if (asked?.state !== 'running') return world.steer(path, 409);
  await world.steer(path, 200);
  end(asked, 'failed');
});

const retry = onAny(
  'retry',
  async ({ target, query, type, isDeleted }, world) => {
    const path = `network/query/${query.requestId}/source/${type}/retry`;
    const asked = query.sources.get(type);
    if (isDeleted) return world.steer(path, 404);
    const isBarred = type === 'hie' && target.isOptedOut;
    if (asked?.state !== 'failed' || isBarred) return world.steer(path, 409);
    // Two jobs of a source about one person could not be told apart.
    if (runningAt(target, type) !== undefined) return;
    await world.steer(path, 200);
    asked.attempt += 1;
    ask(target, asked, type);
  },
);

const cancel = onAny('cancel', async ({ query, isDeleted }, world) => {
  const path = `network/query/${query.requestId}/cancel`;
  if (isDeleted) return world.steer(path, 404);
  if (overall(query) !== 'in-progress') return world.steer(path, 409);
  await world.steer(path, 200);
  for (const asked of query.sources.values())
    if (asked.state === 'running') end(asked, 'failed');
});

const change = (
  name: string,
  run: (target: Person, world: World, model: QueryModelState) => Promise<void>,
) =>
  person.map((index) =>
    command<QueryModelState>(
      `${name}(${index})`,
      () => true,
      (model, world) => run(personOf(model, index), world, model),
    ),
  );

const update = change('update the patient', async ({ id, body }, world) => {
  const address = [
    { addressLine1: '1 New Street', city: 'Boston', state: 'MA', zip: '02108' },
  ];
  await world.mustCall([200], 'PUT', `patient/${id}`, {
    body: { ...body, address },
  });
});

/** Ends a running query of hie at its next poll, too. */
const optOut = change('opt out', async (target, world) => {
  await world.mustCall(
    [200],
    'PUT',
    `patient/${target.id}/hie-opt-out?hieOptOut=true`,
  );
  target.isOptedOut = true;
  const asked = runningAt(target, 'hie')?.sources.get('hie');
  if (asked !== undefined) end(asked, 'failed');
});

/** Somebody else takes the place of who is deleted. */
const remove = change('delete the patient', async (target, world, model) => {
  await world.mustCall([204], 'DELETE', `patient/${target.id}`);
  for (const [key, { path }] of model.keys)
    if (path.endsWith(target.id)) model.keys.delete(key);
  await world.mustCall([404], 'POST', `network/query?patientId=${target.id}`, {
    body: { sources: ['lab'] },
  });
  model.persons[model.persons.indexOf(target)] = await createPerson(world);
  model.deleted.push(target);
});

/** The states of a query as E3 shows them, of each source the last attempt. */
async function statesOf(world: World, { requestId }: Query): Promise<unknown> {
  const { status, body } = await world.call(
    'GET',
    `network/query/${requestId}`,
  );
  if (status !== 200) return status;
  const sources = body.sources as { type: SourceType; status: string }[];
  return {
    status: body.status,
    sources: Object.fromEntries(
      SOURCE_TYPES.flatMap((type) => {
        const last = sources.findLast((each) => each.type === type);
        return last === undefined ? [] : [[type, last.status]];
      }),
    ),
  };
}

const expectedStates = (query: Query) => ({
  status: overall(query),
  sources: Object.fromEntries(
    SOURCE_TYPES.flatMap((type) => {
      const state = query.sources.get(type)?.state;
      return state === undefined
        ? []
        : [[type, state === 'running' ? 'in-progress' : state]];
    }),
  ),
});

const resourcesIn = ({ record }: Person) => ({
  Observation: (record.get('hie') ?? 0) + (record.get('lab') ?? 0),
  MedicationDispense: record.get('pharmacy') ?? 0,
});

async function readResources(world: World, { id }: Person) {
  const { body } = await world.mustCall(
    [200],
    'GET',
    `patient/${id}/consolidated/count`,
  );
  const { Observation = 0, MedicationDispense = 0 } = body.resources;
  return { Observation, MedicationDispense };
}

async function compare(
  { persons, deleted }: QueryModelState,
  world: World,
): Promise<void> {
  for (const target of persons) {
    for (const query of target.queries)
      await world.eventually(
        `query ${query.requestId}`,
        () => statesOf(world, query),
        expectedStates(query),
      );
    const { body: list } = await world.mustCall(
      [200],
      'GET',
      `network/query?patientId=${target.id}`,
    );
    const listed = list.queries.map(({ requestId }: Query) => requestId).sort();
    const started = target.queries.map(({ requestId }) => requestId).sort();
    if (String(listed) !== String(started))
      throw new Error(`queries ${started} expected, listed ${listed}`);
    await world.eventually(
      'the record',
      () => readResources(world, target),
      resourcesIn(target),
    );
  }
  for (const { id, queries } of deleted)
    for (const path of [
      `patient/${id}`,
      ...queries.map(({ requestId }) => `network/query/${requestId}`),
    ])
      await world.mustCall([404], 'GET', path);
}

async function createPerson(world: World): Promise<Person> {
  const body = newPerson();
  const path = `patient?facilityId=${world.account.facilityId}`;
  const { body: created } = await world.mustCall([201], 'POST', path, { body });
  for (const type of SOURCE_TYPES)
    world.sources.treat(type, body.lastName, 'accepts');
  return {
    id: created.id,
    body,
    isOptedOut: false,
    queries: [],
    manners: new Map(),
    record: new Map(),
  };
}

export const QUERY_MODEL: Model<QueryModelState> = {
  begin: async (world) => ({
    persons: [await createPerson(world), await createPerson(world)],
    deleted: [],
    keys: new Map(),
  }),
  commands: [
    start,
    start,
    start,
    repeat,
    repeat,
    treat,
    answer(1, 1),
    answer(3, 1),
    answer(2, 2),
    answer(2, 0),
    callBackEarly,
    refuseJob,
    failJob,
    failAndGiveUp,
    giveUp,
    retry,
    retry,
    cancel,
    update,
    optOut,
    remove,
  ],
  compare,
  /**
   * What still runs is cancelled, at the sources too; then every end was
   * announced once.
   */
  async end(model, world) {
    for (const { query } of running(model)) {
      if (overall(query) !== 'in-progress') continue;
      await world.steer(`network/query/${query.requestId}/cancel`, 200);
      for (const asked of query.sources.values())
        if (asked.state === 'running') end(asked, 'failed');
    }
    await compare(model, world);
    await world.eventually(
      'jobs left at the sources',
      async () => openJobs(model, world),
      [],
    );
    const queries = model.persons.flatMap((each) => each.queries);
    await world.eventually(
      'webhooks',
      () => announcedEnds(world, queries),
      queries.flatMap(({ requestId, sources }) =>
        [...sources].map(
          ([type, { ends }]) => `${ends} network-query.${type} of ${requestId}`,
        ),
      ),
    );
  },
};

/**
 * A worker that is killed while it asks never learns of the job that it
 * started.
 */
const openJobs = (
  { persons, deleted }: QueryModelState,
  { sources, mayBeUnknown }: World,
): string[] =>
  [...persons, ...deleted].flatMap(({ body }) =>
    sources
      .openJobs(body.lastName)
      .filter((job) => !mayBeUnknown(job))
      .map(({ source }) => source),
  );

async function announcedEnds(
  world: World,
  queries: readonly Query[],
): Promise<string[]> {
  const webhooks = await world.webhooks(
    queries.map(({ requestId }) => requestId),
  );
  return queries.flatMap(({ requestId, sources }) =>
    [...sources.keys()].map((type) => {
      const name = `network-query.${type}`;
      const of = webhooks.filter(
        (each) => each.requestId === requestId && each.type === name,
      );
      return `${of.length} ${name} of ${requestId}`;
    }),
  );
}
