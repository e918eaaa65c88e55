import { counted } from '../../../lib/counted.ts';
import { filledText } from '../../../lib/filled.ts';
import type { TaskQueueStats } from '../../../temporal/task-queues.ts';
import texts from './findings.json' with { type: 'json' };
import nouns from './nouns.json' with { type: 'json' };
import {
  BACKLOG_LATE_SECONDS,
  LATE_AFTER_SECONDS,
  type OpenWork,
  type OperationsReport,
  type SenderReport,
  WEBHOOK_LATE_SECONDS,
  type WorkKind,
} from './report.ts';

export const FINDING_KINDS = [
  'stuck',
  'late',
  'dead-lettered',
  'refused',
  'paused',
] as const;

/**
 * Something that an operator should know or do now. Contains ids, counts and
 * times, never personal data.
 */
export interface Finding {
  kind: (typeof FINDING_KINDS)[number];
  what: string;
  /** A command, or where the runbook says more. */
  help: string;
  accountId?: string;
  count: number;
}

/**
 * A finding with the texts of `findings.json`; `{name}` in them stands for the
 * value of that name.
 */
function finding(
  name: keyof typeof texts,
  count: number,
  values: object = {},
  accountId?: string,
): Finding {
  const { kind, what, help } = texts[name];
  const filled = (text: string) => filledText(text, { count, ...values });
  return {
    kind: kind as Finding['kind'],
    what: filled(what),
    help: filled(help),
    accountId,
    count,
  };
}

/**
 * What of a report needs attention, most urgent first.
 *
 * @param report undefined: PostgreSQL could not be reached
 * @param queues undefined: Temporal could not be reached
 * @param gatewayDown the address of a gateway that does not answer
 */
export function findingsOf(
  report: OperationsReport | undefined,
  queues: readonly TaskQueueStats[] | undefined,
  gatewayDown?: string,
): Finding[] {
  const found = [
    ...(report === undefined ? [POSTGRESQL_DOWN] : []),
    ...(queues === undefined
      ? [TEMPORAL_DOWN]
      : [...withoutWorker(queues), ...queues.flatMap(ofQueue)]),
    ...(gatewayDown === undefined
      ? []
      : [
          down(
            `the gateway does not answer at ${gatewayDown}`,
            'The gateway is down',
          ),
        ]),
    ...(report === undefined ? [] : ofReport(report)),
  ];
  return FINDING_KINDS.flatMap((kind) =>
    found.filter((each) => each.kind === kind),
  );
}

const ofReport = (report: OperationsReport): Finding[] => [
  ...report.work.flatMap(ofWork),
  ...(report.suspectedWork > 0
    ? [finding('suspected', report.suspectedWork)]
    : []),
  ...report.sources.flatMap(ofSource),
  ...report.pauses.map((pause) =>
    finding('pausedPart', 1, { ...pause, time: pause.since.toISOString() }),
  ),
  ...report.refusals.map(({ what, times, last }) =>
    finding('notEncrypted', times, {
      what,
      often: counted(times, 'time'),
      time: last.toISOString(),
    }),
  ),
  ...report.wrongClocks.map((what) => down(what, 'A clock is wrong')),
  ...report.troubledDestinations.flatMap(ofDestination),
  ...report.undeliverable.map(({ accountId, state, events }) =>
    finding(state, events, { events }, accountId),
  ),
  ...report.failed.map(({ accountId, state, ...failed }) =>
    finding(state, failed.queries, failed, accountId),
  ),
  ...(report.unmatchedMessages > 0
    ? [finding('unmatched', report.unmatchedMessages)]
    : []),
  ...report.senders.flatMap((sender) => [
    ...ofSender(sender),
    ...ofDrift(sender),
  ]),
];

/** @param entry of the runbook */
const down = (what: string, entry: string): Finding =>
  finding('down', 1, { what, entry });
const POSTGRESQL_DOWN = down(
  'PostgreSQL does not answer: requests get a 503, and no step of a workflow ends',
  'PostgreSQL is down',
);
const TEMPORAL_DOWN = down(
  'Temporal does not answer: no workflow makes progress',
  'Temporal is down',
);

/**
 * One finding for all of them, so that the others stay on the screen. An
 * exchange may run without an orchestrator of its own.
 */
function withoutWorker(queues: readonly TaskQueueStats[]): Finding[] {
  const unpolled = queues.filter(
    ({ queue, backlog, pollers }) =>
      pollers === 0 && (backlog > 0 || queue !== 'orchestrator'),
  );
  if (unpolled.length === 0) return [];
  const all = [...new Set(unpolled.map(({ queue }) => queue))];
  const count = unpolled.reduce((sum, { backlog }) => sum + backlog, 0);
  const names = all.join(', ');
  const words = all.join(' ');
  const tasks = counted(count, 'task waits', 'tasks wait');
  return [
    finding('withoutWorker', count, {
      names,
      words,
      tasks,
      queues: all.length === 1 ? 'queue' : 'queues',
    }),
  ];
}

function ofQueue(report: TaskQueueStats): Finding[] {
  const { backlog, backlogSeconds, pollers } = report;
  if (pollers === 0 || backlogSeconds < BACKLOG_LATE_SECONDS) return [];
  return [
    finding('lateQueue', backlog, { ...report, age: ageOf(backlogSeconds) }),
  ];
}

const NOUNS: Readonly<Record<WorkKind, string>> = nouns;

function ofWork({
  kind,
  open,
  notStarted,
  oldestSeconds,
}: OpenWork): Finding[] {
  const values = {
    noun: NOUNS[kind],
    open,
    notStarted,
    age: ageOf(oldestSeconds),
  };
  const isLate = open > 0 && oldestSeconds > LATE_AFTER_SECONDS[kind];
  return [
    ...(notStarted > 0 ? [finding('notStarted', notStarted, values)] : []),
    ...(isLate ? [finding('lateWork', open, values)] : []),
  ];
}

/** Other keys are ids of accounts' connections. */
const SOURCE_NAME = /^[a-z-]+$/;

function ofSource(report: OperationsReport['sources'][number]): Finding[] {
  const { source, state, reason, since, waitingQueries } = report;
  if (state === 'ok') return [];
  const [name, command] = SOURCE_NAME.test(source)
    ? [`source ${source}`, 'admin -- sources']
    : [`connection ${source}`, 'admin -- connections'];
  const details = `since ${since ?? 'now'}; ${counted(waitingQueries, 'query waits', 'queries wait')}`;
  const which = state === 'paused' ? 'pausedSource' : 'refusedSource';
  return [
    finding(which, waitingQueries, { source, name, command, details, reason }),
  ];
}

function ofDestination(
  report: OperationsReport['troubledDestinations'][number],
): Finding[] {
  const {
    accountId,
    destinationId,
    address,
    lastError,
    state,
    waiting,
    lagSeconds,
  } = report;
  const why = lastError === null ? '' : `; last attempt: ${lastError}`;
  const what = `webhook destination ${address ?? ''} (${destinationId}) is ${state}${why}; ${counted(waiting, 'event waits', 'events wait')}`;
  if (state === 'disabled')
    return [finding('disabledDestination', waiting, { what }, accountId)];
  if (waiting === 0) return [];
  const late =
    lagSeconds > WEBHOOK_LATE_SECONDS
      ? `, the oldest for ${ageOf(lagSeconds)}`
      : '';
  return [
    finding('lateDestination', waiting, { what: `${what}${late}` }, accountId),
  ];
}

/** An age for people, in the largest unit that fits. */
export function ageOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 2 * 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/**
 * Fields that a sender no longer fills, and codes of its own that it did not
 * use before: something changed at its end.
 */
const ofDrift = ({ sender, drift }: SenderReport): Finding[] =>
  (['vanished', 'new-codes'] as const).flatMap((which) => {
    const all = drift
      .filter((each) => each.drift === which)
      .map(({ kind, place }) => `${place} of ${kind}`);
    if (all.length === 0) return [];
    const more =
      all.length > DRIFTS_MAX ? `, and ${all.length - DRIFTS_MAX} more` : '';
    return [
      finding(which, all.length, {
        sender,
        places: `${all.slice(0, DRIFTS_MAX).join(', ')}${more}`,
      }),
    ];
  });

const DRIFTS_MAX = 5;

const WEEK_SECONDS = 7 * 86_400;
/** Fewer messages in a week say nothing about a rhythm. */
const RHYTHM_MIN = 50;

/**
 * A sender that has been silent for a day, and for far longer than between its
 * messages of the last week.
 */
function ofSender({
  sender,
  messages,
  silentSeconds,
}: SenderReport): Finding[] {
  const usualSeconds = WEEK_SECONDS / messages;
  if (
    messages < RHYTHM_MIN ||
    silentSeconds < Math.max(86_400, 20 * usualSeconds)
  )
    return [];
  return [
    finding('silent', 1, {
      sender,
      age: ageOf(silentSeconds),
      often: counted(messages, 'message'),
    }),
  ];
}
