import { renderTable } from '../lib/table.ts';
import {
  type Builds,
  pinnedRuns,
  pollingBuilds,
  readBuilds,
  setCurrentBuild,
  setRampingBuild,
  unpinRun,
} from '../temporal/builds.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { ToolError, type ToolResult } from './run-tool.ts';

/**
 * Which builds there are, what they do, and how many open runs are pinned to
 * each.
 */
export async function buildStatus(client: TemporalClient): Promise<ToolResult> {
  const [builds, polling] = await Promise.all([
    readBuilds(client),
    pollingBuilds(client),
  ]);
  const rows: {
    build: string;
    status: string;
    workers: boolean;
    pinned: number;
  }[] = [];
  for (const { id, status } of builds.all)
    rows.push({
      build: id,
      status,
      workers: polling.ids.has(id),
      pinned: await countPinned(client, id),
    });
  const unversioned = {
    status: builds.current === undefined ? 'current' : '',
    workers: polling.unversioned,
  };
  rows.push({ build: '(without versioning)', ...unversioned, pinned: 0 });
  const lines = renderTable(
    ['Build', 'Status', 'Workers', 'Open runs pinned to it'],
    rows.map(({ build, status, workers, pinned }) => [
      build,
      status === 'ramping' ? `ramping, ${builds.ramping?.percent} %` : status,
      workers ? 'yes' : 'no',
      String(pinned),
    ]),
  );
  return { lines, document: { ...builds, rows } };
}

/** Makes a build current; undefined: workers without versioning. */
export async function makeCurrent(
  client: TemporalClient,
  build: string | undefined,
): Promise<ToolResult> {
  await mustPoll(client, build);
  const before = (await readBuilds(client)).current;
  if (!(await setCurrentBuild(client, build))) throw notReady(build);
  return changed(
    client,
    `${named(build)} is current.`,
    before === build ? undefined : before,
  );
}

export async function ramp(
  client: TemporalClient,
  build: string,
  percent: number,
): Promise<ToolResult> {
  await mustPoll(client, build);
  if (!(await setRampingBuild(client, build, percent))) throw notReady(build);
  return changed(
    client,
    `${percent} % of new and unpinned runs go to build ${build}.`,
    undefined,
  );
}

/**
 * Ends a ramp; without one, makes the build current again that was current
 * before.
 */
export async function rollBack(client: TemporalClient): Promise<ToolResult> {
  const builds = await readBuilds(client);
  if (builds.ramping !== undefined) {
    await setRampingBuild(client, undefined, 0);
    return changed(
      client,
      `Build ${builds.ramping.id} gets no new runs.`,
      builds.ramping.id,
    );
  }
  const before = previousOf(builds);
  if (before === undefined)
    throw new ToolError('There is no earlier build to go back to.');
  return makeCurrent(client, before);
}

/** Unpins all open runs of a build, so that they go on with the current one. */
export async function unpin(
  client: TemporalClient,
  build: string,
): Promise<ToolResult> {
  let moved = 0;
  for await (const run of pinnedRuns(client, build)) {
    await unpinRun(client, run);
    moved += 1;
  }
  const lines = [
    `${moved} open runs of build ${build} go on with the current build.`,
  ];
  return { lines, document: { moved } };
}

/** A build without workers would leave everything that it gets waiting. */
async function mustPoll(
  client: TemporalClient,
  build: string | undefined,
): Promise<void> {
  const polling = await pollingBuilds(client);
  if (build === undefined ? polling.unversioned : polling.ids.has(build))
    return;
  throw new ToolError(
    build === undefined
      ? 'No worker without versioning is running. Start one first (WORKER_VERSIONING=off).'
      : `No worker of build ${build} is running. Start one first (WORKER_VERSIONING=on).`,
  );
}

async function changed(
  client: TemporalClient,
  line: string,
  left: string | undefined,
): Promise<ToolResult> {
  const builds = await readBuilds(client);
  const pinned = left === undefined ? 0 : await countPinned(client, left);
  const lines =
    pinned === 0
      ? [line]
      : [
          line,
          `${pinned} open runs are pinned to build ${left}: keep its workers until "status" says drained, or "unpin ${left}".`,
        ];
  return {
    lines,
    document: { current: builds.current, ramping: builds.ramping, pinned },
  };
}

async function countPinned(
  client: TemporalClient,
  build: string,
): Promise<number> {
  let count = 0;
  for await (const _run of pinnedRuns(client, build)) count += 1;
  return count;
}

const previousOf = ({ current, all }: Builds): string | undefined =>
  all
    .filter(
      ({ id, lastCurrentAt }) => id !== current && lastCurrentAt !== undefined,
    )
    .sort((a, b) => (b.lastCurrentAt ?? 0) - (a.lastCurrentAt ?? 0))[0]?.id;

const named = (build: string | undefined): string =>
  build === undefined
    ? 'The code of workers without versioning'
    : `Build ${build}`;

const notReady = (build: string | undefined): ToolError =>
  new ToolError(
    `Temporal does not accept ${build ?? 'workers without versioning'} yet: each task queue of the current build needs a worker of it. Try again in a moment.`,
  );
