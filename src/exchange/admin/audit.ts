import { open } from 'node:fs/promises';
import { toAuditEvent } from '../audit/fhir-event.ts';
import { type ChainFault, type ChainReport, verifyChain } from '../audit/verify.ts';
import { listAccounts } from '../store/accounts.ts';
import { rowsOfTime } from '../store/audit-chain.ts';
import type { Store } from '../store/database.ts';
import { requireAccount } from './accounts.ts';
import { AdminError, type AdminResult, type AdminTarget, shortTime } from './command.ts';

export interface ExportOptions {
  account: string;
  /** ISO 8601, included. */
  from?: string;
  /** ISO 8601, not included. */
  to?: string;
  /** A file that is not there yet; none: stdout. */
  out?: string;
}

const PAGE = 1_000;
/** Entries are sealed within a minute; later than this nobody seals. */
const SEALED_WITHIN_MS = 10 * 60_000;

/** NDJSON of FHIR AuditEvents, oldest first. */
export async function exportAuditCommand(
  { store }: AdminTarget,
  { account, from, to, out }: ExportOptions,
): Promise<AdminResult> {
  const time = { from: parseTime('--from', from), to: parseTime('--to', to) };
  await store.asSystem((tx) => requireAccount(tx, account));
  const lines = auditLines(store, account, time);
  if (out === undefined) return { document: {}, stream: lines };
  const entries = await writeNew(out, lines);
  return { document: { path: out, entries }, lines: [`${entries} entries in ${out}`] };
}

/** Every account's chain, or one's; fails with the first thing that is wrong in each. */
export async function verifyAuditCommand(
  { store, openAudit }: AdminTarget,
  accountId: string | undefined,
): Promise<AdminResult> {
  const { chain, heads } = await openAudit();
  const known = (await store.asSystem(listAccounts)).map(({ id }) => id);
  const kept = (await heads?.accounts()) ?? [];
  const accountIds = [...new Set([...known, ...kept])].filter(
    (id) => accountId === undefined || id === accountId,
  );
  if (accountIds.length === 0) throw new AdminError('There is no such account');
  const reports: ChainReport[] = [];
  for (const id of accountIds) reports.push(await verifyChain({ store, chain, heads }, id));
  return {
    document: { reports },
    lines: reports.flatMap(describe),
    failed: reports.some(({ fault }) => fault !== undefined),
  };
}

function describe(report: ChainReport): string[] {
  const { accountId, verified, unsealed, oldestUnsealedAt, headPosition, fault } = report;
  const open = unsealed === 0 ? '' : `, ${unsealed} not sealed yet`;
  const elsewhere =
    headPosition === null ? 'no head kept elsewhere: the end is not vouched for' : `head at ${headPosition}`;
  const isLate = oldestUnsealedAt !== null && Date.now() - oldestUnsealedAt.getTime() > SEALED_WITHIN_MS;
  return [
    fault === undefined
      ? `${accountId}  whole: ${verified} entries${open} (${elsewhere})`
      : `${accountId}  NOT WHOLE: ${FAULTS[fault.what](fault)}; ${verified} entries before it are as they were written`,
    ...(isLate
      ? [`  since ${shortTime(oldestUnsealedAt)} nothing is sealed: does a worker run, and reconcile?`]
      : []),
  ];
}

const FAULTS: Readonly<Record<ChainFault['what'], (fault: ChainFault) => string>> = {
  changed: ({ position, entryId }) => `entry ${position} (id ${entryId}) is not the one that was written`,
  removed: ({ position }) => `entry ${position} is gone`,
  'cut-off': ({ position }) => `from entry ${position} on the end is cut off`,
  'head not ours': () => 'the head kept elsewhere was not signed with this key',
};

async function* auditLines(
  store: Store,
  accountId: string,
  time: { from?: Date; to?: Date },
): AsyncGenerator<string> {
  let after = 0;
  for (;;) {
    const page = { after, limit: PAGE };
    const rows = await store.asSystem((tx) => rowsOfTime(tx, accountId, time, page));
    for (const row of rows) yield `${JSON.stringify(toAuditEvent(row))}\n`;
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id ?? after;
  }
}

/** Of its owner only. Answers the count of lines. Throws AdminError when the file is there. */
async function writeNew(path: string, lines: AsyncIterable<string>): Promise<number> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new AdminError(
      error.code === 'EEXIST' ? `${path} is there already` : `${path} cannot be written (${error.code})`,
    );
  });
  let count = 0;
  try {
    for await (const line of lines) {
      await file.appendFile(line);
      count += 1;
    }
  } finally {
    await file.close();
  }
  return count;
}

function parseTime(option: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time);
  throw new AdminError(`${option} "${text}" is no time: 2026-11-21 (UTC) or 2026-11-21T12:00:00Z`);
}
