import {
  directMailboxWorkflowId,
  messageTransmissionWorkflowId,
  trustBundleRefreshWorkflowId,
} from '../../../contract/temporal.ts';
import { counted } from '../../../lib/counted.ts';
import { minuteOf } from '../../../lib/time.ts';
import { OFF_NOTE } from '../../../shared/monitoring/monitoring-control.ts';
import type { TaskQueueStats } from '../../../temporal/task-queues.ts';
import type { TemporalTroubles } from '../../../temporal/troubles.ts';
import type { MailboxTrouble } from '../../messaging/messages/direct/mailbox-troubles.ts';
import type { RevocationFault } from '../../messaging/messages/direct/revocation-fault-store.ts';
import type { BundleTrouble } from '../../messaging/messages/direct/trust-bundles/bundle-troubles.ts';
import type { ConnectionWarning } from '../../queries/network-query/newest-warnings.ts';
import type { WaitingConnection } from '../../queries/network-query/waiting-connections.ts';
import { sayPackingTrouble } from '../../records/packing/packing-store.ts';
import { findingId, type Happened } from './acknowledgements.ts';
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
  'waiting',
  'held',
  'paused',
] as const;

/**
 * What stands still until somebody, or what it waits for, lets it go on: one
 * list, in which each says since when and by whom.
 */
const STANDING_KINDS: readonly string[] = ['waiting', 'held', 'paused'];
export const isStanding = ({ kind }: OpsFinding): boolean =>
  STANDING_KINDS.includes(kind);

/**
 * Something that an operator should know or do now. Contains ids, counts and
 * times, never personal data.
 */
export interface OpsFinding {
  kind: (typeof FINDING_KINDS)[number];
  what: string;
  /** A command, or where the runbook says more. */
  help: string;
  accountId?: string;
  count: number;
  /** Of what stands still; absent if it is not known. */
  since?: string;
  /** Who or what keeps it; only of what stands still. */
  by?: string;
  /**
   * Of what has happened and is over: by this id it can be acknowledged, until
   * it happens again.
   */
  happened?: Happened;
}

/** What `admin ops` knows; what could not be read is absent. */
export interface OpsKnowledge {
  /** Absent: PostgreSQL could not be reached. */
  report?: OperationsReport;
  /** Absent: Temporal could not be reached. */
  temporal?: TemporalReport;
  /** The address of a gateway that does not answer. */
  gatewayDown?: string;
  /** Why the blob store cannot be used. */
  blobsDown?: string;
  /** About the networks' gateways that sources are reached by. */
  warnings?: readonly ConnectionWarning[];
  waiting?: readonly WaitingConnection[];
  mailboxes?: readonly MailboxTrouble[];
  bundles?: readonly BundleTrouble[];
  revocations?: readonly RevocationFault[];
}

/** What needs attention, most urgent first. */
export function findingsOf({
  report,
  temporal,
  gatewayDown,
  blobsDown,
  warnings = [],
  waiting = [],
  mailboxes = [],
  bundles = [],
  revocations = [],
}: OpsKnowledge): OpsFinding[] {
  const found = [
    ...(report === undefined ? [POSTGRESQL_DOWN] : []),
    ...(temporal === undefined ? [TEMPORAL_DOWN] : ofTemporal(temporal)),
    ...(gatewayDown === undefined
      ? []
      : [
          down(
            `the gateway does not answer at ${gatewayDown}`,
            'The gateway is down',
          ),
        ]),
    ...(blobsDown === undefined
      ? []
      : [
          down(
            `the blob store cannot be used: ${blobsDown}`,
            'The blob store is down',
          ),
        ]),
    ...(report === undefined ? [] : ofReport(report)),
    ...warnings.map(ofWarning),
    ...waiting
      .filter((each) => !isHeldBack(each, report))
      .map(ofWaitingConnection),
    ...mailboxes.flatMap(ofMailbox),
    ...bundles.map(ofBundle),
    ...revocations.map(ofRevocation),
  ];
  return FINDING_KINDS.flatMap((kind) =>
    found.filter((each) => each.kind === kind),
  );
}

/** What Temporal says. */
export interface TemporalReport {
  queues: readonly TaskQueueStats[];
  troubles: TemporalTroubles;
}

const ofTemporal = ({ queues, troubles }: TemporalReport): OpsFinding[] => [
  ...withoutWorker(queues),
  ...queues.flatMap(ofQueue),
  ...ofFailingRuns(troubles),
  ...ofPausedRuns(troubles),
  // One that is off because its cohort is not monitored is not paused.
  ...troubles.pausedSchedules
    .filter(({ note }) => note !== OFF_NOTE)
    .map(ofPausedSchedule),
  ...troubles.hanging.map((round) => ofHangingRound(round, troubles)),
  ...troubles.skipped.map(ofSkippedRound),
];

/** One finding for each type of workflow, with a workflow as an example. */
function byType(
  runs: TemporalTroubles['paused'],
  finding: (type: string, example: string, count: number) => OpsFinding,
): OpsFinding[] {
  const types = Map.groupBy(runs, ({ type }) => type);
  return [...types].map(([type, all]) =>
    finding(type, all[0]?.workflowId ?? '', all.length),
  );
}

const ofFailingRuns = ({ failing }: TemporalTroubles): OpsFinding[] =>
  byType(failing, (type, example, count) => ({
    kind: 'stuck',
    what: `the task of ${counted(count, `${type} workflow`)} fails again and again, such as ${example}`,
    help: runbook('A workflow task fails again and again'),
    count,
  }));

const ofPausedRuns = ({ paused, namespace }: TemporalTroubles): OpsFinding[] =>
  byType(paused, (type, example, count) => ({
    kind: 'paused',
    what: `${counted(count, `${type} workflow`)}, such as ${example}`,
    by: IN_TEMPORAL,
    help: `temporal workflow unpause --namespace ${namespace} --workflow-id ${example}`,
    count,
  }));

/** Temporal does not say who it was. */
const IN_TEMPORAL = 'somebody in Temporal';

const ofPausedSchedule = ({
  cohortId,
  kind,
}: TemporalTroubles['pausedSchedules'][number]): OpsFinding => ({
  kind: 'paused',
  what: `monitoring of cohort ${cohortId} (${kind}); its note: npm run starter -- monitor list`,
  by: 'an operator',
  help: `npm run starter -- monitor resume ${cohortId} ${kind}`,
  count: 1,
});

const ofHangingRound = (
  {
    cohortId,
    kind,
    workflowId,
    startedAt,
  }: TemporalTroubles['hanging'][number],
  { namespace }: TemporalTroubles,
): OpsFinding => ({
  kind: 'stuck',
  what: `monitoring of cohort ${cohortId} (${kind}): the round of ${minuteOf(startedAt)} still runs, so that no further one begins`,
  help: `temporal workflow cancel --namespace ${namespace} --workflow-id ${workflowId}, then npm run starter -- monitor trigger ${cohortId} ${kind}`,
  count: 1,
});

const ofSkippedRound = ({
  cohortId,
  kind,
  startedAt,
}: TemporalTroubles['skipped'][number]): OpsFinding => ({
  kind: 'late',
  what: `monitoring of cohort ${cohortId} (${kind}) has skipped a round; the last one began at ${minuteOf(startedAt)}`,
  help: `npm run starter -- monitor trigger ${cohortId} ${kind}`,
  count: 1,
});

const ofReport = (report: OperationsReport): OpsFinding[] => [
  ...report.work.flatMap(ofWork),
  ...ofSuspectedWork(report),
  ...ofPacking(report),
  ...report.sources.flatMap(ofSource),
  ...report.pauses.map(ofPause),
  ...report.pausedWork.map(ofPausedWork),
  ...report.refusals.map(ofRefusal),
  ...report.wrongClocks.map((what) => down(what, 'A clock is wrong')),
  ...report.troubledDestinations.flatMap(ofDestination),
  ...report.undeliverable
    .filter(({ state }) => state === 'dead')
    .map(ofDeadLettered),
  ...report.failed.map(ofFailedQueries),
  ...ofUnmatchedMessages(report),
  ...ofHeldMessages(report),
  ...ofUnmonitoredMessages(report),
  ...report.senders.flatMap((sender) => [
    ...ofSender(sender),
    ...ofDrift(sender),
  ]),
];

/** @param entry of the runbook */
const down = (what: string, entry: string): OpsFinding => ({
  kind: 'stuck',
  what,
  help: runbook(entry),
  count: 1,
});

const runbook = (entry: string): string => `docs/operations.md, "${entry}"`;

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
function withoutWorker(queues: readonly TaskQueueStats[]): OpsFinding[] {
  const unpolled = queues.filter(
    ({ queue, backlog, pollers }) =>
      pollers === 0 && (backlog > 0 || queue !== 'orchestrator'),
  );
  if (unpolled.length === 0) return [];
  const all = [...new Set(unpolled.map(({ queue }) => queue))];
  const count = unpolled.reduce((sum, { backlog }) => sum + backlog, 0);
  const noun = all.length === 1 ? 'queue' : 'queues';
  const tasks = counted(count, 'task waits', 'tasks wait');
  return [
    {
      kind: 'stuck',
      what: `no worker polls the task ${noun} ${all.join(', ')}; ${tasks}`,
      help: `start a worker with WORKER_QUEUES="${all.join(' ')}" (npm run worker)`,
      count,
    },
  ];
}

function ofQueue({
  queue,
  type,
  backlog,
  backlogSeconds,
  pollers,
}: TaskQueueStats): OpsFinding[] {
  if (pollers === 0 || backlogSeconds < BACKLOG_LATE_SECONDS) return [];
  return [
    {
      kind: 'late',
      what: `task queue ${queue}, ${type} tasks: ${backlog} waiting, the oldest for ${ageOf(backlogSeconds)}`,
      help: `start more workers with WORKER_QUEUES=${queue}`,
      count: backlog,
    },
  ];
}

const NOUNS: Readonly<Record<WorkKind, string>> = {
  'network-query': 'network queries',
  'bulk-create': 'bulk creates',
  'post-import-queries': 'post-import sweeps',
  'consolidated-query': 'consolidated queries',
  'bulk-export': 'bulk exports',
  redrive: 'redrives',
  'outbound-message': 'outbound messages',
  'record-notification': 'notifications to be recorded',
  erasure: 'blobs and workflows to be erased',
  'audit-sealing': 'audit entries to be sealed',
  'record-packing': 'records to be packed',
};

function ofWork({
  kind,
  open,
  notStarted,
  oldestSeconds,
}: OpenWork): OpsFinding[] {
  const found: OpsFinding[] = [];
  if (notStarted > 0)
    found.push({
      kind: 'stuck',
      what: `${NOUNS[kind]} without a workflow: ${notStarted} of ${open} open`,
      help: runbook('Work is not started'),
      count: notStarted,
    });
  if (open > 0 && oldestSeconds > LATE_AFTER_SECONDS[kind])
    found.push({
      kind: 'late',
      what: `${NOUNS[kind]}: ${open} open, the oldest for ${ageOf(oldestSeconds)}`,
      help: runbook('Open work is late'),
      count: open,
    });
  return found;
}

const ofSuspectedWork = ({ suspectedWork }: OperationsReport): OpsFinding[] =>
  suspectedWork === 0
    ? []
    : [
        {
          kind: 'stuck',
          what: `steps at which a worker ended three times or more: ${suspectedWork}`,
          help: runbook('A worker ends again and again'),
          count: suspectedWork,
        },
      ];

const ofPacking = ({ packingTrouble }: OperationsReport): OpsFinding[] =>
  packingTrouble === undefined
    ? []
    : [
        {
          kind: 'stuck',
          what: sayPackingTrouble(packingTrouble),
          help: runbook('The contents of a record cannot be moved'),
          accountId: packingTrouble.accountId,
          count: packingTrouble.records,
        },
      ];

/** Other keys are ids of accounts' connections. */
const SOURCE_NAME = /^[a-z-]+$/;

const nounOf = (source: string): string =>
  SOURCE_NAME.test(source) ? 'source' : 'connection';
const since = (at: string | Date | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at).toISOString();

/**
 * A source whose calls only fail is named by the queries that wait for it
 * (`ofWaitingConnection`).
 */
function ofSource(report: OperationsReport['sources'][number]): OpsFinding[] {
  const { source, state, reason = '', waitingQueries } = report;
  const noun = nounOf(source);
  const what = `${noun} ${source}; ${counted(waitingQueries, 'query waits', 'queries wait')}`;
  const command = `npm run admin -- ${noun}s`;
  if (state === 'paused')
    return [
      {
        kind: 'paused',
        what: `${what}: ${reason}`,
        since: since(report.since),
        by: report.by,
        help: `${command} resume ${source}`,
        count: waitingQueries,
      },
    ];
  if (state !== 'open') return [];
  return [
    {
      kind: 'waiting',
      what: `${what}, because it fails or refuses every call: ${reason}`,
      since: since(report.since),
      by: `its breaker; next probe at ${minuteOf(report.nextProbeAt ?? new Date())}`,
      help: `mend the ${noun}; a probe ends it (${command} list)`,
      count: waitingQueries,
    },
  ];
}

/** Whether a pause or a breaker says already that its queries wait. */
const isHeldBack = (
  { connection, source }: WaitingConnection,
  report: OperationsReport | undefined,
): boolean =>
  report?.sources.some(
    (each) =>
      (each.source === connection || each.source === source) &&
      (each.state === 'paused' || each.state === 'open'),
  ) === true;

function ofWaitingConnection({
  connection,
  queries,
  failing,
  since: began,
  oldestQueryId,
  usualSeconds,
  reason,
}: WaitingConnection): OpsFinding {
  const usual =
    usualSeconds === null
      ? ''
      : `; 95 % are answered within ${ageOf(usualSeconds)}`;
  const why =
    failing > 0
      ? `its calls fail: ${reason ?? 'no reason is known'}`
      : `no answer yet${usual}`;
  return {
    kind: 'waiting',
    what: `${counted(queries, 'query', 'queries')} for ${nounOf(connection)} ${connection}: ${why}`,
    since: since(began),
    by: `the ${nounOf(connection)}`,
    help: `npm run starter -- status ${oldestQueryId}; ${runbook('A source is down, or rejects our credentials')}`,
    count: queries,
  };
}

/** Mail that is not read, and mail that is not sent, are two things. */
const ofMailbox = ({
  accountId,
  isUnread,
  unreadSince,
  fault,
  unsent,
  unsentSince,
  oldestUnsentId,
}: MailboxTrouble): OpsFinding[] => {
  const trouble = { kind: 'waiting', accountId } as const;
  return [
    ...(isUnread
      ? [
          {
            ...trouble,
            what: `Direct messages to the account: ${fault ?? 'no reading of its mailbox has ended'}`,
            since: since(unreadSince ?? undefined),
            by:
              fault === null
                ? `the schedule ${directMailboxWorkflowId(accountId)}`
                : MAIL_SERVER,
            help: `npm run admin -- direct list; to replace the login or the authority: npm run admin -- direct connect --account ${accountId}`,
            count: 1,
          },
        ]
      : []),
    ...(unsent === 0
      ? []
      : [
          {
            ...trouble,
            what: `${counted(unsent, 'Direct message')} not taken by the mail server, such as ${messageTransmissionWorkflowId(oldestUnsentId ?? '')}`,
            since: since(unsentSince ?? undefined),
            by: MAIL_SERVER,
            help: runbook('A message stays in `processing`, or has failed'),
            count: unsent,
          },
        ]),
  ];
};

const MAIL_SERVER = 'its mail server';

const ofBundle = ({
  name,
  fault,
  loadedAt,
  since: at,
}: BundleTrouble): OpsFinding => {
  const anchors =
    loadedAt === null ? 'it has no anchors yet' : 'its last anchors are used';
  return {
    kind: 'waiting',
    what: `the trust bundle ${name} is not refreshed (${anchors}): ${fault ?? 'no run has ended'}`,
    since: since(at),
    by:
      fault === null
        ? `the schedule ${trustBundleRefreshWorkflowId(name)}`
        : 'its publisher',
    help: `npm run admin -- bundles show ${name}; then: npm run admin -- bundles refresh ${name}`,
    count: 1,
  };
};

const ofRevocation = ({
  address,
  fault,
  since: at,
}: RevocationFault): OpsFinding => ({
  kind: 'waiting',
  what: `whether certificates of Direct are revoked is not known, and they are used: ${address}: ${fault}`,
  since: since(at),
  by: 'the authority that publishes the list',
  help: 'compare whether this machine reaches the address; it is asked again with the next message',
  count: 1,
});

const WORK_COMMANDS = {
  'bulk-create': 'resume',
  'post-import-queries': 'sweep/resume',
} as const;

const ofPausedWork = ({
  kind,
  accountId,
  requestId,
  since: at,
  actor,
}: OperationsReport['pausedWork'][number]): OpsFinding => ({
  kind: 'paused',
  what: `${PAUSED_NOUNS[kind]} ${requestId}`,
  since: since(at ?? undefined),
  by: actor === null ? IN_TEMPORAL : personOf(actor),
  help: `curl -X POST -H "x-api-key: <its key>" <gateway>/medical/v1/patient/bulk/${requestId}/${WORK_COMMANDS[kind]}`,
  accountId,
  count: 1,
});

const PAUSED_NOUNS = {
  'bulk-create': 'bulk create',
  'post-import-queries': 'queries after the bulk create',
} as const;

/** `key:<id>`, as the audit has it, for people. */
const personOf = (actor: string): string => actor.replace(/^key:/, 'API key ');

/** A certificate that ends soon, or a gateway's clock that is off. */
function ofWarning({
  source,
  connectionId,
  kind,
  message,
  at,
}: ConnectionWarning): OpsFinding {
  const gateway = `${source} gateway${connectionId === null ? '' : `, connection ${connectionId}`}`;
  const command = { certificate: 'rotate', clock: 'check' }[kind];
  return {
    kind: kind === 'certificate' ? 'late' : 'refused',
    what: `${gateway}: ${message}; seen at ${minuteOf(at)}`,
    help:
      connectionId === null
        ? 'docs/networks.md, "Check it"'
        : `npm run admin -- connections ${command} ${connectionId}`,
    count: 1,
  };
}

const ofPause = ({
  part,
  since: at,
  by,
  reason,
}: OperationsReport['pauses'][number]): OpsFinding => ({
  kind: 'paused',
  what: `reconcile: ${part}: ${reason}`,
  since: since(at),
  by,
  help: `npm run admin -- reconcile resume ${part}`,
  count: 1,
});

const ofRefusal = ({
  what,
  times,
  last,
}: OperationsReport['refusals'][number]): OpsFinding => ({
  kind: 'refused',
  what: `not encrypted, so refused: ${what}; ${counted(times, 'time')}, last at ${minuteOf(last)}`,
  help: runbook('Input that is not encrypted'),
  count: times,
  happened: { id: findingId('not-encrypted', what), last },
});

function ofDestination(
  report: OperationsReport['troubledDestinations'][number],
): OpsFinding[] {
  const { accountId, destinationId, address, lastError, state, waiting } =
    report;
  const why = lastError === null ? '' : `; last attempt: ${lastError}`;
  const what = `webhook destination ${address ?? ''} (${destinationId}) is ${state}${why}; ${counted(waiting, 'event waits', 'events wait')}`;
  if (state === 'disabled')
    return [
      {
        kind: 'dead-lettered',
        what,
        help: 'set its address again: POST /settings',
        accountId,
        count: waiting,
      },
    ];
  if (waiting === 0) return [];
  const late =
    report.lagSeconds > WEBHOOK_LATE_SECONDS
      ? `, the oldest for ${ageOf(report.lagSeconds)}`
      : '';
  return [
    {
      kind: 'waiting',
      what: `${what}${late}`,
      since: since(report.since ?? undefined),
      by: 'the receiver',
      help: 'repair the receiver, then: curl -X POST -H "x-api-key: <its key>" <gateway>/settings/webhook/retry',
      accountId,
      count: waiting,
    },
  ];
}

const ofDeadLettered = ({
  accountId,
  events,
  last,
}: OperationsReport['undeliverable'][number]): OpsFinding => ({
  kind: 'dead-lettered',
  what: `webhooks dead-lettered in the last week: ${events}`,
  help: 'repair the receiver, then POST /settings/webhook/retry',
  accountId,
  count: events,
  happened: { id: findingId('dead-lettered', accountId), last },
});

const ofFailedQueries = ({
  accountId,
  source,
  state,
  queries,
  since: first,
  last,
}: OperationsReport['failed'][number]): OpsFinding => ({
  kind: 'refused',
  what:
    state === 'failed'
      ? `queries of the last day that failed at ${source}: ${queries}`
      : `queries of the last day that could not ask ${source}, for example because of a limit: ${queries}`,
  help: `npm run starter -- redrive --source ${source} --from ${secondOf(first)} --dry-run`,
  accountId,
  count: queries,
  happened: { id: findingId('failed-queries', accountId, source, state), last },
});

/** `2026-11-29T16:40:12Z`: not after the time itself. */
const secondOf = (at: Date): string => `${at.toISOString().slice(0, 19)}Z`;

const ofUnmatchedMessages = ({
  unmatchedMessages,
}: OperationsReport): OpsFinding[] =>
  unmatchedMessages === 0
    ? []
    : [
        {
          kind: 'refused',
          what: `messages of senders in the last day without a patient: ${unmatchedMessages}`,
          help: 'npm run admin -- notifications unmatched',
          count: unmatchedMessages,
        },
      ];

const ofHeldMessages = ({
  heldMessages,
  heldSince,
}: OperationsReport): OpsFinding[] =>
  heldMessages === 0
    ? []
    : [
        {
          kind: 'held',
          what: `${counted(heldMessages, 'message')} of senders: somebody has to decide whether the record has changed hands`,
          since: since(heldSince ?? undefined),
          by: 'the exchange',
          help: 'npm run admin -- notifications unmatched, then notifications accept or refuse <message>',
          count: heldMessages,
        },
      ];

const ofUnmonitoredMessages = ({
  unmonitoredMessages,
}: OperationsReport): OpsFinding[] =>
  unmonitoredMessages === 0
    ? []
    : [
        {
          kind: 'refused',
          what: `messages of senders in the last day about patients of no cohort that is notified, so in no record: ${unmonitoredMessages}`,
          help: 'npm run starter -- cohorts create <name> --adt --fills --results, then cohorts add',
          count: unmonitoredMessages,
        },
      ];

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
const ofDrift = ({ sender, drift }: SenderReport): OpsFinding[] =>
  (['vanished', 'new-codes'] as const).flatMap((which) => {
    const all = drift
      .filter((each) => each.drift === which)
      .map(({ kind, place }) => `${place} of ${kind}`);
    if (all.length === 0) return [];
    const more =
      all.length > DRIFTS_MAX ? `, and ${all.length - DRIFTS_MAX} more` : '';
    const places = `${all.slice(0, DRIFTS_MAX).join(', ')}${more}`;
    return [
      {
        kind: 'refused',
        what:
          which === 'vanished'
            ? `The sender ${sender} no longer holds ${places}`
            : `The sender ${sender} has new codes of its own in ${places}`,
        help: 'docs/hl7v2.md, "A sender drifts"',
        count: all.length,
      },
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
}: SenderReport): OpsFinding[] {
  const usualSeconds = WEEK_SECONDS / messages;
  if (
    messages < RHYTHM_MIN ||
    silentSeconds < Math.max(86_400, 20 * usualSeconds)
  )
    return [];
  return [
    {
      kind: 'late',
      what: `The sender ${sender} has sent nothing for ${ageOf(silentSeconds)}, after ${counted(messages, 'message')} within a week`,
      help: 'docs/hl7v2.md, "A sender falls silent"',
      count: 1,
    },
  ];
}
