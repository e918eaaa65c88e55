import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { StackAccount, TestStack } from '../../support/stack.ts';
import type { Hold, Holds, Killable } from './holds.ts';
import { until } from './until.ts';

export interface Scene {
  stack: TestStack;
  account: StackAccount;
  random: SeededRandom;
  holds: Holds;
}

/** A moment at which a kill may do harm. */
export interface KillWindow {
  readonly name: string;
  /** Before the first call. */
  prepare?(scene: Scene): Promise<void> | void;
  /** Resolves when the moment is there; false when it never came. */
  reached(scene: Scene): Promise<boolean>;
}

const REACHED_TIMEOUT_MS = 60_000;
const soon = (check: () => Promise<boolean>) =>
  until(check, { timeoutMs: REACHED_TIMEOUT_MS });

/** Whether at least `least` rows of the account's queries are so. */
const rowsAre = async (
  { stack, account }: Scene,
  from: string,
  where: string,
  least = 1,
) => {
  const statement = `select count(*) as count from ${from} where account_id = $1 and ${where}`;
  const [row] = await stack.rows<{ count: number }>(statement, [
    account.accountId,
  ]);
  return Number(row?.count) >= least;
};

/** Somebody waits in the middle of a transaction that writes into the table. */
function beforeCommit(name: string, table: string): KillWindow {
  let hold: Hold | undefined;
  return {
    name,
    async prepare({ holds }) {
      hold = await holds.lockTable(table);
    },
    reached: () => soon(async () => (await hold?.isWaitedFor()) === true),
  };
}

const REQUEST_BEFORE_COMMIT = beforeCommit(
  'request: before its commit',
  'network_query',
);

const BETWEEN_COMMIT_AND_START: KillWindow = {
  name: 'query: between commit and start',
  prepare: ({ holds }) => holds.pause('Temporal'),
  reached: (scene) =>
    soon(() =>
      rowsAre(
        scene,
        'network_query_run',
        'workflow_started_at is null',
        scene.random.between(1, 2),
      ),
    ),
};

const FIRST_REQUESTS: KillWindow = {
  name: 'source: asked, nothing kept yet',
  async reached(scene) {
    const least = scene.random.between(1, 15);
    const asked = await soon(() =>
      rowsAre(scene, 'network_query_timeline', "kind = 'asked'", least),
    );
    await sleep(scene.random.between(0, 150));
    return asked;
  },
};

const ACCEPTED_BEFORE_SAVED: KillWindow = {
  name: 'source: has taken the request, we have not kept its handle',
  async reached(scene) {
    const { stack, account, holds } = scene;
    const fresh = `select a.query_id from network_query_attempt a join network_query_timeline t
      on t.query_id = a.query_id and t.source = a.source and t.kind = 'asked'
      where a.account_id = $1 and a.source = 'hie' and a.job is null and a.status = 'running' limit 1`;
    let queryId: string | undefined;
    const found = await soon(async () => {
      [{ query_id: queryId }] = (await stack.rows(fresh, [
        account.accountId,
      ])) as [{ query_id: string }];
      return true;
    });
    if (!found) return false;
    const row =
      "select from network_query_attempt where query_id = $1 and source = 'hie' for update";
    const hold = await holds.lockRows(row, [queryId]);
    return soon(() => hold.isWaitedFor());
  },
};

const WAITING: KillWindow = {
  name: 'source: works on it, callback not there yet',
  async reached(scene) {
    const there = await soon(() =>
      rowsAre(
        scene,
        'network_query_attempt',
        "job is not null and pages = 0 and status = 'running'",
        scene.random.between(1, 4),
      ),
    );
    await sleep(scene.random.between(0, 500));
    return there;
  },
};

const CALLBACK_NOT_PASSED_ON: KillWindow = {
  name: 'callback: taken, workflow not told',
  async reached(scene) {
    const isWaiting = () =>
      rowsAre(
        scene,
        'network_query_attempt',
        'job is not null and callback_at is null',
        2,
      );
    if (!(await soon(isWaiting))) return false;
    scene.holds.pause('Temporal');
    return soon(() =>
      rowsAre(
        scene,
        'network_query_attempt',
        "callback_at is not null and pages = 0 and status = 'running'",
      ),
    );
  },
};

const DURING_COLLECT: KillWindow = {
  name: 'collect: between two pages',
  reached(scene) {
    const pages = scene.random.between(1, 4);
    const where = `pages >= ${pages} and cursor is not null and status = 'running'`;
    return soon(() =>
      rowsAre(
        scene,
        'network_query_attempt',
        where,
        scene.random.between(1, 3),
      ),
    );
  },
};

const PAGE_BEFORE_COMMIT: KillWindow = {
  name: 'collect: page before its commit',
  async reached(scene) {
    const pages = scene.random.between(0, 3);
    if (
      !(await soon(() =>
        rowsAre(scene, 'network_query_attempt', `pages >= ${pages}`),
      ))
    )
      return false;
    const hold = await scene.holds.lockTable('patient_resource');
    return soon(() => hold.isWaitedFor());
  },
};

const FAILURE_BEFORE_NEXT: KillWindow = {
  name: 'attempt: failed, the next one is due',
  async reached(scene) {
    const due = await soon(() =>
      rowsAre(scene, 'network_query_attempt', 'will_retry'),
    );
    await sleep(scene.random.between(0, 5_500));
    return due;
  },
};

const BETWEEN_RECORD_AND_WEBHOOK: KillWindow = {
  name: 'event: recorded, webhook not answered yet',
  prepare: ({ holds }) => holds.pause('receiver'),
  reached: (scene) =>
    soon(() =>
      rowsAre(
        scene,
        'event',
        "status = 'delivering'",
        scene.random.between(1, 3),
      ),
    ),
};

const AT_RANDOM: KillWindow = {
  name: 'at random',
  async reached({ random }) {
    await sleep(random.between(0, 9_000));
    return true;
  },
};

export const KILL_WINDOWS: readonly KillWindow[] = [
  REQUEST_BEFORE_COMMIT,
  BETWEEN_COMMIT_AND_START,
  FIRST_REQUESTS,
  ACCEPTED_BEFORE_SAVED,
  WAITING,
  CALLBACK_NOT_PASSED_ON,
  DURING_COLLECT,
  PAGE_BEFORE_COMMIT,
  FAILURE_BEFORE_NEXT,
  beforeCommit('end of a source: before its commit', 'event'),
  BETWEEN_RECORD_AND_WEBHOOK,
  beforeCommit('event: webhook answered, not recorded', 'event_attempt'),
  AT_RANDOM,
];

export interface PlannedKill {
  part: Killable;
  window: KillWindow;
  seed: number;
}

/**
 * `rounds` kills of each part, every window in turn before one comes again;
 * parts change from round to round.
 */
export function planKills(
  random: SeededRandom,
  options: {
    parts: readonly Killable[];
    rounds: number;
    windows?: readonly KillWindow[];
  },
): PlannedKill[] {
  const windows = options.windows ?? KILL_WINDOWS;
  const ofPart = new Map(
    options.parts.map((part) => {
      const order: KillWindow[] = [];
      while (order.length < options.rounds)
        order.push(...random.shuffle(windows));
      return [part, order];
    }),
  );
  return Array.from({ length: options.rounds }, (_, round) =>
    options.parts.flatMap((part) => {
      const window = ofPart.get(part)?.[round];
      return window === undefined
        ? []
        : [{ part, window, seed: random.between(1, 2 ** 30) }];
    }),
  ).flat();
}
