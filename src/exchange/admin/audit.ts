import { open } from 'node:fs/promises';
import { listAccounts } from '../accounts/account-store.ts';
import { acceptLoss } from '../platform/audit/accept-loss.ts';
import { rowsOfTime } from '../platform/audit/chain-store.ts';
import { toAuditEvent } from '../platform/audit/fhir-event.ts';
import type { AuditHeads } from '../platform/audit/heads.ts';
import type { AcceptedLoss, Loss, RenewedHead } from '../platform/audit/losses.ts';
import { type ChainFault, type ChainReport, verifyChain } from '../platform/audit/verify.ts';
import type { Store } from '../platform/database/database.ts';
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
/** Characters of what an operator says. */
const SAID_MAX = 500;
/** Entries are sealed within a minute; later than this nobody seals. */
const SEALED_WITHIN_MS = 10 * 60_000;

/** NDJSON of FHIR AuditEvents, oldest first. */
export async function exportAuditCommand(
  { store }: AdminTarget,
  { account, from, to, out }: ExportOptions,
): Promise<AdminResult> {
  const time = { from: parseTime('--from', from), to: parseTime('--to', to) };
  await store.asSystem((tx) => requireAccount(tx, account));
  const pages = auditPages(store, account, time);
  if (out === undefined) return { document: {}, stream: joined(pages) };
  const entries = await writeNew(out, pages);
  return { document: { path: out, entries }, lines: [`${entries} entries in ${out}`] };
}

/** Every account's chain, or one's; fails with the first thing that is wrong in each. */
export async function verifyAuditCommand(
  { store, openAudit }: AdminTarget,
  accountId: string | undefined,
): Promise<AdminResult> {
  const { chain, heads } = await openAudit();
  const reports: ChainReport[] = [];
  for (const id of await audited(store, heads, accountId))
    reports.push(await verifyChain({ store, chain, heads }, id));
  return {
    document: { reports },
    lines: reports.flatMap(describe),
    failed: reports.some(({ fault }) => fault !== undefined),
  };
}

/** Accounts of which there is a chain, or a head kept elsewhere; this one, when one is named. */
async function audited(
  store: Store,
  heads: AuditHeads | undefined,
  accountId: string | undefined,
): Promise<string[]> {
  const known = (await store.asSystem(listAccounts)).map(({ id }) => id);
  const kept = (await heads?.accounts()) ?? [];
  const accountIds = [...new Set([...known, ...kept])].filter(
    (id) => accountId === undefined || id === accountId,
  );
  if (accountIds.length === 0) throw new AdminError('There is no such account');
  return accountIds;
}

export interface AcceptLossOptions {
  account?: string;
  all?: boolean;
  by: string;
  reason: string;
}

/** After a restore from a backup: what is cut off at the end of one chain, or of all, is said to be lost. */
export async function acceptLossCommand(
  { store, openAudit }: AdminTarget,
  { account, all, by, reason }: AcceptLossOptions,
): Promise<AdminResult> {
  if ((account === undefined) === (all !== true))
    throw new AdminError('Name the account (--account), or say --all');
  const said = { by, reason };
  for (const [option, text] of Object.entries(said))
    if (text.trim().length === 0 || text.length > SAID_MAX)
      throw new AdminError(`--${option} takes 1 to ${SAID_MAX} characters, and nothing about a patient`);
  const { chain, heads } = await openAudit();
  if (heads === undefined) throw new AdminError('AUDIT_HEADS is not set: no head is kept elsewhere');
  const accepted: ({ accountId: string } & Loss)[] = [];
  const renewed: { accountId: string; position: number }[] = [];
  const refused: ({ accountId: string } & ChainFault)[] = [];
  for (const accountId of await audited(store, heads, account)) {
    const done = await acceptLoss({ store, chain, heads }, accountId, said);
    if (done.kind === 'accepted') accepted.push({ accountId, ...done.loss });
    if (done.kind === 'head renewed') renewed.push({ accountId, position: done.position });
    if (done.kind === 'refused') refused.push({ accountId, ...done.fault });
  }
  if (accepted.length + renewed.length + refused.length === 0)
    throw new AdminError('The audit is whole: nothing is lost');
  return {
    document: { accepted, renewed, refused },
    lines: [
      ...accepted.map((loss) => `${loss.accountId}  accepted as lost: ${describeLoss(loss)}`),
      ...renewed.map(
        ({ accountId, position }) =>
          `${accountId}  the head kept elsewhere begins anew after entry ${position}`,
      ),
      ...refused.map(
        (fault) => `${fault.accountId}  NOT ACCEPTED: ${FAULTS[fault.what](fault)}; no restore does that`,
      ),
    ],
    failed: refused.length > 0,
  };
}

const describeLoss = ({ from, to, sealedAt, keptUntil }: Loss): string => {
  const entries = to > from ? `entries ${from} to ${to}` : `entry ${from}`;
  const since = keptUntil === undefined ? '' : ` written after ${shortTime(new Date(keptUntil))},`;
  return `${entries} and what came behind,${since} the last known sealed ${shortTime(new Date(sealedAt))}`;
};

const describeAccepted = (loss: AcceptedLoss): string =>
  `  lost: ${describeLoss(loss)}; accepted ${shortTime(new Date(loss.at))} by ${loss.by}: ${loss.reason}`;

const describeRenewed = ({ position, at, by, reason }: RenewedHead): string =>
  `  head kept elsewhere: missing, begun anew after entry ${position} ${shortTime(new Date(at))} by ${by}: ${reason}`;

function describe(report: ChainReport): string[] {
  const { accountId, verified, unsealed, oldestUnsealedAt, headPosition, fault } = report;
  const before =
    fault?.loss === undefined
      ? `${verified} entries before it are as they were written`
      : `the ${verified} entries that are there are as they were written`;
  const open = unsealed === 0 ? '' : `, ${unsealed} not sealed yet`;
  const elsewhere =
    headPosition === null ? 'no head kept elsewhere: the end is not vouched for' : `head at ${headPosition}`;
  const isLate = oldestUnsealedAt !== null && Date.now() - oldestUnsealedAt.getTime() > SEALED_WITHIN_MS;
  return [
    fault === undefined
      ? `${accountId}  whole: ${verified} entries${open} (${elsewhere})`
      : `${accountId}  NOT WHOLE: ${FAULTS[fault.what](fault)}; ${before}`,
    ...report.losses.map(describeAccepted),
    ...report.renewedHeads.map(describeRenewed),
    ...(isLate
      ? [`  since ${shortTime(oldestUnsealedAt)} nothing is sealed: does a worker run, and reconcile?`]
      : []),
  ];
}

const FAULTS: Readonly<Record<ChainFault['what'], (fault: ChainFault) => string>> = {
  changed: ({ position, entryId }) => `entry ${position} (id ${entryId}) is not the one that was written`,
  removed: ({ position }) => `entry ${position} is gone`,
  'cut-off': ({ position, loss }) =>
    loss === undefined
      ? `from entry ${position} on the end is cut off`
      : `${describeLoss(loss)}, are cut off; if a backup was restored: audit accept-loss`,
  'head not ours': () => 'the head kept elsewhere was not signed with this key',
  'head missing': ({ position }) =>
    `the head kept elsewhere is missing, so an end from entry ${position} on may be cut off; if AUDIT_HEADS is new, or its ` +
    'folder was lost: audit accept-loss',
};

/** Lines of some entries at a time. */
async function* auditPages(
  store: Store,
  accountId: string,
  time: { from?: Date; to?: Date },
): AsyncGenerator<string[]> {
  let after = 0;
  for (;;) {
    const page = { after, limit: PAGE };
    const rows = await store.asSystem((tx) => rowsOfTime(tx, accountId, time, page));
    yield rows.map((row) => `${JSON.stringify(toAuditEvent(row))}\n`);
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id ?? after;
  }
}

async function* joined(pages: AsyncIterable<string[]>): AsyncGenerator<string> {
  for await (const lines of pages) yield lines.join('');
}

/** Of its owner only. Answers the count of lines. Throws AdminError when the file is there. */
async function writeNew(path: string, pages: AsyncIterable<string[]>): Promise<number> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new AdminError(
      error.code === 'EEXIST' ? `${path} is there already` : `${path} cannot be written (${error.code})`,
    );
  });
  let count = 0;
  try {
    for await (const lines of pages) {
      await file.appendFile(lines.join(''));
      count += lines.length;
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
