import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { request } from 'undici';
import type {
  BulkCounts,
  BulkCreateStatusResponse,
} from '../../../src/contract/bulk-create.ts';
import { PANEL_HEADER, panelLine } from '../bulk/panel.ts';
import { command, type Model, type World } from './world.ts';

interface Person {
  id: string;
  hasQuery: boolean;
}

interface Request {
  requestId: string;
  uploadUrl: string;
  dryRun: boolean;
  status: 'waiting' | 'processing' | 'completed' | 'failed';
  isPaused: boolean;
  wasUploaded: boolean;
  /**
   * As they must be, or as they were when the request was paused or cancelled.
   */
  counts: BulkCounts;
  /** Patients that it wrote who may be queried, and who may not. */
  toQuery: number;
  toSkip: number;
  webhooks: number;
}

interface BulkModelState {
  requests: Request[];
  /** By their number in the files. */
  persons: Map<number, Person>;
  /** Patients of large files, which are of no interest one by one. */
  others: number;
  keys: Map<number, { requestId: string; dryRun: boolean }>;
  nextLarge: number;
}

/** A row of a small file: somebody, or one that is wrong. */
type Row = number | 'wrong';

const PERSONS = 5;
/**
 * More than two chunks, so that a request can be paused and cancelled in the
 * middle.
 */
const LARGE_ROWS = 4_500;
const NO_COUNTS: BulkCounts = {
  rows: 0,
  handled: 0,
  created: 0,
  updated: 0,
  failed: 0,
};

const which = fc.nat(7);
/** Every second one has opted out of queries. */
const optsOut = (person: number) => person % 2 === 1;

const start = fc
  .tuple(fc.boolean(), fc.option(fc.nat(2)))
  .map(([dryRun, key]) =>
    command<BulkModelState>(
      `start(${dryRun ? 'dry run' : 'import'}, key ${key})`,
      () => true,
      async ({ requests, keys }, world) => {
        const before = key === null ? undefined : keys.get(key);
        if (before !== undefined)
          return repeatStart(key, before, dryRun, world);
        const { body } = await world.mustCall(
          [200],
          'POST',
          ...startCall(world, dryRun, key),
        );
        const { requestId, uploadUrl } = body;
        if (key !== null) keys.set(key, { requestId, dryRun });
        requests.push({
          requestId,
          uploadUrl,
          dryRun,
          status: 'waiting',
          isPaused: false,
          wasUploaded: false,
          counts: NO_COUNTS,
          toQuery: 0,
          toSkip: 0,
          webhooks: 0,
        });
      },
    ),
  );

const startCall = ({ account }: World, dryRun: boolean, key: number | null) =>
  [
    `patient/bulk?facilityId=${account.facilityId}&dryRun=${dryRun}`,
    key === null ? {} : { idempotencyKey: `bulk-${key}` },
  ] as const;

/**
 * The same request under the same key is the same bulk create; another one is
 * refused.
 */
async function repeatStart(
  key: number | null,
  before: { requestId: string; dryRun: boolean },
  dryRun: boolean,
  world: World,
): Promise<void> {
  const isSame = before.dryRun === dryRun;
  const { body } = await world.mustCall(
    [isSame ? 200 : 422],
    'POST',
    ...startCall(world, dryRun, key),
  );
  if (isSame && body.requestId !== before.requestId)
    throw new Error('A repeated request started another bulk create');
}

const onRequest = (
  name: string,
  run: (of: Request, world: World, model: BulkModelState) => Promise<void>,
) =>
  which.map((index) =>
    command<BulkModelState>(
      `${name}(${index})`,
      ({ requests }) => requests.length > 0,
      async (model, world) => {
        const of = model.requests[index % model.requests.length];
        if (of !== undefined) await run(of, world, model);
      },
    ),
  );

/** A second file is refused; so is one for a request that has ended. */
async function upload(
  of: Request,
  csv: string,
  world: World,
): Promise<boolean> {
  const { statusCode, body } = await request(of.uploadUrl, {
    method: 'PUT',
    headers: { 'x-api-key': world.account.apiKey, 'content-type': 'text/csv' },
    body: csv,
  });
  await body.dump();
  const expected = of.status === 'waiting' ? 200 : 409;
  if (statusCode !== expected)
    throw new Error(`PUT: expected ${expected}, got ${statusCode}`);
  if (statusCode !== 200) return false;
  of.wasUploaded = true;
  of.webhooks += 1;
  return true;
}

const csvOf = (rows: readonly Row[]) =>
  `${[
    PANEL_HEADER,
    ...rows.map((row, index) => {
      const isWrong = row === 'wrong';
      const person = isWrong ? 0 : row;
      return panelLine(person, {
        phone: index,
        isWrong,
        optsOut: optsOut(person),
      });
    }),
  ].join('\n')}\n`;

const uploadRows = fc
  .tuple(
    which,
    fc.array(
      fc.oneof(
        { weight: 5, arbitrary: fc.nat(PERSONS - 1) },
        fc.constant<Row>('wrong'),
      ),
      {
        minLength: 1,
      },
    ),
  )
  .map(([index, rows]) =>
    command<BulkModelState>(
      `upload(${index}, ${rows})`,
      ({ requests }) => requests.length > 0,
      async (model, world) => {
        const of = model.requests[index % model.requests.length];
        if (of === undefined || !(await upload(of, csvOf(rows), world))) return;
        const named = new Set<number>();
        let created = 0;
        for (const row of rows) {
          if (row === 'wrong') continue;
          if (!named.has(row) && !model.persons.has(row)) created += 1;
          named.add(row);
        }
        const failed = rows.filter((row) => row === 'wrong').length;
        const handled = rows.length;
        of.counts = {
          rows: handled,
          handled,
          created,
          updated: handled - created - failed,
          failed,
        };
        of.status = 'completed';
        of.webhooks += 1;
        if (of.dryRun) return;
        of.toQuery = [...named].filter((each) => !optsOut(each)).length;
        of.toSkip = named.size - of.toQuery;
        const read = () => readStatus(of, world);
        await world.eventually(
          'the import',
          async () => (await read()).status,
          'completed',
        );
        await adoptPatients(of, rows, model, world);
      },
    ),
  );

/**
 * The result names a patient for each row, and the same one for the same
 * person.
 */
async function adoptPatients(
  of: Request,
  rows: readonly Row[],
  { persons }: BulkModelState,
  world: World,
) {
  const { result = '' } = await readStatus(of, world);
  const lines = parse(await (await request(result)).body.text(), {
    columns: true,
  }) as Record<string, string>[];
  if (lines.length !== rows.length)
    throw new Error(`The result has ${lines.length} rows, not ${rows.length}`);
  for (const [index, row] of rows.entries()) {
    const { patientId = '', status } = lines[index] ?? {};
    if (row === 'wrong') {
      if (status !== 'failed') throw new Error(`A wrong row is ${status}`);
      continue;
    }
    const known = persons.get(row);
    if (patientId === '' || (known !== undefined && known.id !== patientId))
      throw new Error(
        `Row ${index} names the patient ${patientId}, not ${known?.id}`,
      );
    persons.set(row, { id: patientId, hasQuery: !optsOut(row) });
  }
}

const uploadNonsense = onRequest('upload another format', async (of, world) => {
  if (!(await upload(of, 'name\nPat\n', world))) return;
  of.status = 'failed';
  of.webhooks += 1;
});

/** People whom no other file names; all have opted out. */
const uploadLarge = onRequest(
  'upload a large file',
  async (of, world, model) => {
    const first = model.nextLarge;
    model.nextLarge += LARGE_ROWS;
    const rows = Array.from({ length: LARGE_ROWS }, (_, row) =>
      panelLine(first + row, { phone: row, optsOut: true }),
    );
    if (!(await upload(of, `${[PANEL_HEADER, ...rows].join('\n')}\n`, world)))
      return;
    of.status = 'processing';
  },
);

/** What a large file has become when it has been handled to its end. */
function finishLarge(of: Request, model: BulkModelState): void {
  of.counts = {
    ...NO_COUNTS,
    rows: LARGE_ROWS,
    handled: LARGE_ROWS,
    created: LARGE_ROWS,
  };
  of.status = 'completed';
  of.isPaused = false;
  of.webhooks += 1;
  if (of.dryRun) return;
  of.toSkip = LARGE_ROWS;
  model.others += LARGE_ROWS;
}

/** It may end before it can be paused. */
const pause = onRequest('pause', async (of, world, model) => {
  const path = `patient/bulk/${of.requestId}/pause`;
  if (of.status !== 'processing' || of.isPaused) return world.steer(path, 409);
  const { status } = await world.mustCall([200, 409], 'POST', path);
  const now = await readStatus(of, world);
  if (now.paused !== true) {
    if (status === 200) throw new Error('A request that was paused is not');
    return finishLarge(of, model);
  }
  of.isPaused = true;
});

const resume = onRequest('resume', async (of, world, model) => {
  await world.steer(
    `patient/bulk/${of.requestId}/resume`,
    of.isPaused ? 200 : 409,
  );
  if (of.isPaused) finishLarge(of, model);
});

const cancel = onRequest('cancel', async (of, world, model) => {
  const path = `patient/bulk/${of.requestId}/cancel`;
  if (of.status === 'completed' || of.status === 'failed')
    return world.steer(path, 409);
  await world.mustCall([200, 409], 'POST', path);
  const now = await readStatus(of, world);
  if (now.status === 'completed') return finishLarge(of, model);
  of.status = 'failed';
  of.isPaused = false;
  of.webhooks += 1;
  of.counts = now.counts;
  if (!of.dryRun) model.others += now.counts.created;
});

const deletePatient = fc.nat(PERSONS - 1).map((index) =>
  command<BulkModelState>(
    `delete patient(${index})`,
    ({ persons }) => persons.has(index),
    async ({ persons }, world) => {
      await world.mustCall(
        [204],
        'DELETE',
        `patient/${persons.get(index)?.id}`,
      );
      persons.delete(index);
    },
  ),
);

async function readStatus(
  { requestId }: Request,
  world: World,
): Promise<BulkCreateStatusResponse> {
  return (await world.mustCall([200], 'GET', `patient/bulk/${requestId}`)).body;
}

async function compare(model: BulkModelState, world: World): Promise<void> {
  for (const of of model.requests) {
    // A large file that nobody has paused is on its way to its end.
    if (of.status === 'processing') continue;
    await world.eventually(
      `bulk create ${of.requestId}`,
      async () => {
        const { status, counts } = await readStatus(of, world);
        return { status, counts };
      },
      { status: of.status, counts: of.counts },
    );
  }
}
export const BULK_MODEL: Model<BulkModelState> = {
  async begin() {
    return {
      requests: [],
      persons: new Map(),
      others: 0,
      keys: new Map(),
      nextLarge: 10_000,
    };
  },
  commands: [
    start,
    start,
    uploadRows,
    uploadRows,
    uploadNonsense,
    uploadLarge,
    pause,
    resume,
    cancel,
    deletePatient,
  ],
  compare,
  /**
   * What waits is cancelled, what is paused or processed runs to its end; then
   * patients, queries and webhooks are counted.
   */
  async end(model, world) {
    for (const of of model.requests) {
      if (of.isPaused)
        await world.steer(`patient/bulk/${of.requestId}/resume`, 200);
      if (of.status === 'processing') finishLarge(of, model);
      if (of.status !== 'waiting') continue;
      await world.steer(`patient/bulk/${of.requestId}/cancel`, 200);
      of.status = 'failed';
      of.webhooks += 1;
    }
    await compare(model, world);
    const { body } = await world.mustCall([200], 'GET', 'patient?count=1');
    const patients = model.persons.size + model.others;
    if (body.meta.itemsInTotal !== patients)
      throw new Error(
        `${patients} patients expected, got ${body.meta.itemsInTotal}`,
      );
    for (const of of model.requests) await compareSweep(of, world);
    for (const { requestId, webhooks } of model.requests) {
      const received = async () => (await world.webhooks([requestId])).length;
      await world.eventually(`webhooks of ${requestId}`, received, webhooks);
    }
  },
};

async function compareSweep(of: Request, world: World): Promise<void> {
  if (of.status !== 'completed' || of.dryRun) return;
  const read = async () => {
    const { sweep } = await readStatus(of, world);
    return (
      sweep && {
        state: sweep.state,
        handled: sweep.started + sweep.skipped,
        failed: sweep.failed,
        open: sweep.open,
      }
    );
  };
  const handled = of.toQuery + of.toSkip;
  await world.eventually('the sweep', read, {
    state: 'completed',
    handled,
    failed: 0,
    open: 0,
  });
}
