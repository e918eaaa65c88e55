import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { ConfigError } from '../../../config.ts';
import type { SourceScore } from '../../../contract/network-query.ts';
import { counted } from '../../../lib/counted.ts';
import { renderTable } from '../../../lib/table.ts';
import { minuteOf } from '../../../lib/time.ts';
import {
  readTaskQueueStats,
  type TaskQueueStats,
} from '../../../temporal/task-queues.ts';
import { readTroubles } from '../../../temporal/troubles.ts';
import { readMailboxTroubles } from '../../messaging/messages/direct/mailbox-troubles.ts';
import { readRevocationFaults } from '../../messaging/messages/direct/revocation-fault-store.ts';
import { readBundleTroubles } from '../../messaging/messages/direct/trust-bundles/bundle-troubles.ts';
import { isConnectionFault } from '../../platform/database/postgres-errors.ts';
import {
  type OpenAsks,
  readOpenAsks,
} from '../../queries/network-query/fan-out/open-asks.ts';
import { readWaitingConnections } from '../../queries/network-query/waiting-connections.ts';
import {
  acknowledge,
  readAcknowledgements,
  unacknowledged,
} from '../ops/acknowledgements.ts';
import {
  ageOf,
  findingsOf,
  isStanding,
  type OpsFinding,
  type TemporalReport,
} from '../ops/findings.ts';
import { readGatewayWarnings } from '../ops/gateway-warnings.ts';
import {
  type OpenWork,
  readOperationsReport,
  type SenderReport,
} from '../ops/report.ts';
import { auditAdmin, auditEverywhere } from './accounts.ts';
import {
  type AdminCommand,
  AdminError,
  type AdminTarget,
  checkedStatement,
  type Statement,
} from './command.ts';

/** So that the output fits on one screen; `--json` has all. */
const SHOWN_MAX = 12;

/**
 * `ops`: what is stuck, late, dead-lettered or refused now, and what stands
 * still, over all accounts, and the command that helps. A service that does not
 * answer (PostgreSQL, Temporal, the gateway, the blob store) is named, what the
 * others say is reported, and the exit code says that not all is known.
 */
export const opsCommand: AdminCommand<[], keyof AdminTarget> = async (
  target,
) => {
  const [known, temporal, gatewayDown, blobsDown] = await Promise.all([
    readDatabase(target).catch((error: unknown) => {
      if (isConnectionFault(error)) return undefined;
      throw error;
    }),
    readTemporal(target),
    silentGateway(target.gatewayUrl),
    faultOfBlobs(target),
  ]);
  const findings = unacknowledged(
    findingsOf({ ...known, temporal, gatewayDown, blobsDown }),
    known?.acknowledged ?? new Map(),
  );
  const report = known?.report;
  const { queues, troubles } = temporal ?? {};
  return {
    lines: [
      ...linesOf(findings, report?.work, queues),
      ...gatewayLines(known?.gateways),
      ...senderLines(report?.senders ?? []),
      ...scoreLines(report?.scorecard ?? []),
    ],
    document: {
      command: 'ops',
      findings,
      ...report,
      gateways: known?.gateways,
      queues,
      troubles,
    },
    isIncomplete:
      [report, temporal].includes(undefined) ||
      [gatewayDown, blobsDown].some((down) => down !== undefined),
    failed: findings.length > 0,
  };
};

/** `ops acknowledge`: leaves out what has happened, until it happens again. */
export const acknowledgeFindingCommand: AdminCommand<
  [string, Statement]
> = async ({ store }, id, options) => {
  const statement = checkedStatement(options);
  // Temporal has no findings of this kind.
  const known = findingsOf(await readDatabase({ store })).find(
    ({ happened }) => happened?.id === id,
  );
  if (known === undefined)
    throw new AdminError(
      `No finding with the id ${id} can be acknowledged; those that can end with their id in: npm run admin -- ops`,
    );
  await store.asSystem(async (tx) => {
    await acknowledge(tx, id, statement);
    if (known.accountId === undefined)
      await auditEverywhere(tx, 'acknowledgeFinding', id);
    else
      await auditAdmin(tx, known.accountId, 'acknowledgeFinding', id, {
        details: statement,
      });
  });
  return {
    document: { acknowledged: id, what: known.what },
    lines: [`Acknowledged, until it happens again: ${known.what}`],
  };
};

/** What PostgreSQL knows. */
async function readDatabase({ store }: Pick<AdminTarget, 'store'>) {
  // One after the other: they share few connections.
  return {
    report: await readOperationsReport(store),
    warnings: await readGatewayWarnings(store),
    waiting: await readWaitingConnections(store),
    gateways: await readOpenAsks(store),
    mailboxes: await readMailboxTroubles(store),
    bundles: await readBundleTroubles(store),
    revocations: await readRevocationFaults(store),
    acknowledged: await readAcknowledgements(store),
  };
}

const ANSWERS_WITHIN_MS = 5_000;

/** The address of the gateway if it is known and does not answer. */
async function silentGateway(
  url: string | undefined,
): Promise<string | undefined> {
  if (url === undefined) return undefined;
  const asked = request(`${url}/health`, {
    signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
  });
  return asked.then(
    ({ body }) => body.dump().then(() => undefined),
    () => url,
  );
}

/**
 * Why the blob store cannot be used: a small blob is written and deleted, so
 * that a full or read-only one is noticed. Not asked where it is not configured
 * for this command.
 */
async function faultOfBlobs({
  openBlobs,
}: Pick<AdminTarget, 'openBlobs'>): Promise<string | undefined> {
  const probe = `result/${randomBytes(16).toString('hex')}`;
  try {
    const blobs = await openBlobs();
    await blobs.write(probe, Readable.from([Buffer.from('admin ops')]));
    await blobs.delete(probe);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    const { message, cause } = error as Error;
    return cause instanceof Error ? cause.message : message;
  }
}

/**
 * Undefined when Temporal cannot be reached. A configuration error is thrown.
 */
async function readTemporal({
  openTemporal,
}: AdminTarget): Promise<TemporalReport | undefined> {
  const client = await openTemporal();
  try {
    const queues = await readTaskQueueStats(client);
    return { queues, troubles: await readTroubles(client) };
  } catch {
    return undefined;
  } finally {
    await client.connection.close();
  }
}

function linesOf(
  findings: readonly OpsFinding[],
  work: readonly OpenWork[] | undefined,
  queues: readonly TaskQueueStats[] | undefined,
): string[] {
  const standing = findings.filter(isStanding);
  const others = findings.filter((each) => !isStanding(each));
  const more = others.slice(SHOWN_MAX);
  return [
    ...(others.length === 0
      ? ['Nothing is stuck, late, dead-lettered or refused.']
      : others.slice(0, SHOWN_MAX).flatMap(findingLines)),
    ...(more.length === 0 ? [] : [`… and ${kindsOf(more)} (--json lists all)`]),
    '',
    ...(standing.length === 0
      ? ['Nothing is paused, held or waits longer than usual.']
      : standing.flatMap(standingLines)),
    '',
    ...(work === undefined
      ? []
      : workLines(work.filter(({ open }) => open > 0))),
    ...(queues === undefined ? [] : ['', backlogLine(queues)]),
  ];
}

/** `3 refused, 1 late`. */
const kindsOf = (findings: readonly OpsFinding[]): string =>
  [...Map.groupBy(findings, ({ kind }) => kind)]
    .map(([kind, all]) => `${all.length} ${kind}`)
    .join(', ');

/** The fields shown of each sender; `--json` has more. */
const UNUSED_SHOWN = 6;

const senderLines = (senders: readonly SenderReport[]): string[] =>
  senders.length === 0
    ? []
    : [
        '',
        ...renderTable(
          [
            'sender, 7 days',
            'messages',
            'last',
            'reused numbers',
            'not used, or repaired',
          ],
          senders.map(
            ({ sender, messages, silentSeconds, numbersReused, unused }) => [
              sender,
              String(messages),
              ageOf(silentSeconds),
              String(numbersReused),
              unused
                .slice(0, UNUSED_SHOWN)
                .map(({ place, messages: count }) => `${place} (${count})`)
                .join(' '),
            ],
          ),
        ),
      ];

const percent = (share: number | null): string =>
  share === null ? '–' : `${Math.round(share * 100)} %`;

const firstData = ({
  firstDataSecondsMedian: median,
  firstDataSecondsP95: p95,
}: SourceScore): string =>
  median === null ? '–' : `${shortAge(median)}, 95 % ${shortAge(p95)}`;

const shortAge = (seconds: number | null): string =>
  seconds === null
    ? '–'
    : seconds < 10
      ? `${seconds.toFixed(1)} s`
      : ageOf(seconds);

const scoreLines = (scores: readonly SourceScore[]): string[] =>
  scores.length === 0
    ? []
    : [
        '',
        ...renderTable(
          [
            'source, 24 hours',
            'queries',
            'open, failing',
            'answered',
            'first data',
            'found',
            'yield',
            'LOINC',
            'UCUM',
          ],
          scores.map((score) => [
            score.connection ?? score.source,
            String(score.queries),
            String(score.waiting),
            percent(score.responseRate),
            firstData(score),
            percent(score.foundShare),
            String(score.resourcesPerFoundPatient ?? '–'),
            percent(score.codedShare),
            percent(score.unitShare),
          ]),
        ),
      ];

const workLines = (work: readonly OpenWork[]): string[] =>
  work.length === 0
    ? ['No work is open.']
    : renderTable(
        ['open work', 'open', 'oldest'],
        work.map(({ kind, open, oldestSeconds }) => [
          kind,
          String(open),
          ageOf(oldestSeconds),
        ]),
      );

const gatewayLines = (asks: OpenAsks | undefined): string[] =>
  asks === undefined
    ? []
    : [
        '',
        `${counted(asks.queries, 'running query', 'running queries')} of networks: ${counted(asks.asked, 'gateway')} asked, ${asks.found} found, ${asks.nobody} nobody, ${asks.failed} failed, ${asks.waiting} still waiting${asks.late === 0 ? '' : `, ${asks.late} of them due for more than five minutes`}`,
      ];

const findingLines = ({
  kind,
  what,
  help,
  accountId,
  happened,
}: OpsFinding): string[] => [
  `${kind.padEnd(KIND_WIDTH)}${what}${ofAccountId(accountId)}`,
  `${INDENT}→ ${help}`,
  ...(happened === undefined
    ? []
    : [
        `${INDENT}→ or leave it: npm run admin -- ops acknowledge ${happened.id} --by "<your name>" --reason "<why>"`,
      ]),
];

/** What stands still: since when, by whom, and what ends it. */
const standingLines = ({
  kind,
  what,
  help,
  accountId,
  since,
  by = '',
}: OpsFinding): string[] => [
  `${kind.padEnd(KIND_WIDTH)}${what}${ofAccountId(accountId)}`,
  `${INDENT}  ${since === undefined ? 'since a time that is not known' : `since ${minuteOf(since)}, for ${ageOf((Date.now() - Date.parse(since)) / 1_000)}`}; by ${by}`,
  `${INDENT}→ ${help}`,
];

const ofAccountId = (accountId: string | undefined): string =>
  accountId === undefined ? '' : ` (account ${accountId})`;
const KIND_WIDTH = 'dead-lettered'.length + 2;
const INDENT = ' '.repeat(KIND_WIDTH);

function backlogLine(queues: readonly TaskQueueStats[]): string {
  const waiting = queues.filter(({ backlog }) => backlog > 0);
  if (waiting.length === 0) return 'No task waits for a worker.';
  return `Tasks that wait for a worker: ${waiting.map(({ queue, type, backlog }) => `${queue} (${type}) ${backlog}`).join(', ')}`;
}
