import { request } from 'undici';
import type { SourceScore } from '../../../contract/network-query.ts';
import { renderTable } from '../../../lib/table.ts';
import {
  readTaskQueueStats,
  type TaskQueueStats,
} from '../../../temporal/task-queues.ts';
import { readTroubles } from '../../../temporal/troubles.ts';
import { isConnectionFault } from '../../platform/database/postgres-errors.ts';
import {
  ageOf,
  findingsOf,
  type OpsFinding,
  type TemporalReport,
} from '../ops/findings.ts';
import { readGatewayWarnings } from '../ops/gateway-warnings.ts';
import {
  type OpenWork,
  readOperationsReport,
  type SenderReport,
} from '../ops/report.ts';
import type { AdminCommand, AdminTarget } from './command.ts';

/** So that the output fits on one screen; `--json` has all. */
const SHOWN_MAX = 12;

/**
 * `ops`: what is stuck, late, dead-lettered or refused now, over all accounts,
 * and the command that helps. A service that does not answer (PostgreSQL,
 * Temporal, the gateway) is named, and what the others say is reported.
 */
export const opsCommand: AdminCommand<[], keyof AdminTarget> = async (
  target,
) => {
  const [report, temporal, gatewayDown] = await Promise.all([
    readOperationsReport(target.store).catch((error: unknown) => {
      if (isConnectionFault(error)) return undefined;
      throw error;
    }),
    readTemporal(target),
    silentGateway(target.gatewayUrl),
  ]);
  const warnings =
    report === undefined ? [] : await readGatewayWarnings(target.store);
  const findings = findingsOf(report, temporal, gatewayDown, warnings);
  const { queues, troubles } = temporal ?? {};
  return {
    lines: [
      ...linesOf(findings, report?.work, queues),
      ...senderLines(report?.senders ?? []),
      ...scoreLines(report?.scorecard ?? []),
    ],
    document: { command: 'ops', findings, ...report, queues, troubles },
    failed: report === undefined,
  };
};

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
  const more = findings.length - SHOWN_MAX;
  return [
    ...(findings.length === 0
      ? ['Nothing is stuck, late, dead-lettered or refused.']
      : findings.slice(0, SHOWN_MAX).flatMap(findingLines)),
    ...(more > 0 ? [`… and ${more} more (--json lists all)`] : []),
    '',
    ...(work === undefined
      ? []
      : workLines(work.filter(({ open }) => open > 0))),
    ...(queues === undefined ? [] : ['', backlogLine(queues)]),
  ];
}

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

const scoreLines = (scores: readonly SourceScore[]): string[] =>
  scores.length === 0
    ? []
    : [
        '',
        ...renderTable(
          [
            'source, 24 hours',
            'queries',
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
            percent(score.responseRate),
            `${score.firstDataSecondsMedian ?? '–'} s, 95 % ${score.firstDataSecondsP95 ?? '–'} s`,
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

const findingLines = ({
  kind,
  what,
  help,
  accountId,
}: OpsFinding): string[] => [
  `${kind.padEnd(KIND_WIDTH)}${what}${accountId === undefined ? '' : ` (account ${accountId})`}`,
  `${' '.repeat(KIND_WIDTH)}→ ${help}`,
];
const KIND_WIDTH = 'dead-lettered'.length + 2;

function backlogLine(queues: readonly TaskQueueStats[]): string {
  const waiting = queues.filter(({ backlog }) => backlog > 0);
  if (waiting.length === 0) return 'No task waits for a worker.';
  return `Tasks that wait for a worker: ${waiting.map(({ queue, type, backlog }) => `${queue} (${type}) ${backlog}`).join(', ')}`;
}
