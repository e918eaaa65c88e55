import { open } from 'node:fs/promises';
import { counted } from '../../../lib/counted.ts';
import {
  findAccount,
  listAccounts,
} from '../../access/accounts/account-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { rowsOfTime } from '../../platform/audit/chain-store.ts';
import { toAuditEvent } from '../../platform/audit/fhir-event.ts';
import { type AuditHeads, copyHeads } from '../../platform/audit/heads.ts';
import {
  type AcceptedLoss,
  HEAD_RENEWED,
  LOSS_ACCEPTED,
  type Loss,
  type RenewedHead,
  writeLoss,
  writeRenewal,
} from '../../platform/audit/losses.ts';
import { openAuditHeads } from '../../platform/audit/open-heads.ts';
import { sealEntries, writeHead } from '../../platform/audit/sealer.ts';
import {
  type ChainFault,
  type ChainReport,
  type VerifyDeps,
  verifyChain,
} from '../../platform/audit/verify.ts';
import type { Store } from '../../platform/database/database.ts';
import { requireAccount } from './accounts.ts';
import {
  type AdminCommand,
  AdminError,
  checkedStatement,
  existingStore,
  shortTime,
} from './command.ts';

export interface AuditExportOptions {
  account: string;
  /** Inclusive. */
  from?: Date;
  /** Exclusive. */
  to?: Date;
  /** Path of a new file; default stdout. */
  out?: string;
}

const PAGE = 1_000;
/**
 * Entries are normally sealed within a minute; if it takes longer than this,
 * sealing is not running.
 */
const SEALED_WITHIN_MS = 10 * 60_000;

/** `audit export`: NDJSON of FHIR AuditEvents, oldest first. */
export const exportAuditCommand: AdminCommand<[AuditExportOptions]> = async (
  { store },
  { account, from, to, out },
) => {
  await store.asSystem((tx) => requireAccount(tx, account));
  const pages = auditPages(store, account, { from, to });
  if (out === undefined) return { document: {}, stream: joined(pages) };
  const entries = await writeNew(out, pages);
  return {
    document: { path: out, entries },
    lines: [`${entries} entries in ${out}`],
  };
};

/**
 * `audit verify`: verifies the chains of all accounts, or of one. Reports the
 * first fault of each.
 */
export const verifyAuditCommand: AdminCommand<
  [string | undefined],
  'store' | 'openAudit'
> = async ({ store, openAudit }, accountId) => {
  const { chain, heads } = await openAudit();
  const reports: ChainReport[] = [];
  for (const id of await auditedAccounts(store, heads, accountId))
    reports.push(await verifyChain({ store, chain, heads }, id));
  return {
    document: { reports },
    lines: reports.flatMap(describe),
    failed: reports.some(({ fault }) => fault !== undefined),
  };
};

/**
 * Ids of accounts that exist or have an external head; with `accountId`, only
 * that one. Throws AdminError if there is none.
 */
async function auditedAccounts(
  store: Store,
  heads: AuditHeads | undefined,
  accountId: string | undefined,
): Promise<string[]> {
  const known = (await store.asSystem(listAccounts)).map(({ id }) => id);
  const kept = (await heads?.accounts()) ?? [];
  const accountIds = [...new Set([...known, ...kept])].filter(
    (id) => accountId === undefined || id === accountId,
  );
  if (accountIds.length === 0)
    throw new AdminError(
      'Account not found; list all accounts with: npm run admin -- accounts list',
    );
  return accountIds;
}

export interface AcceptLossOptions {
  account?: string;
  all?: boolean;
  by: string;
  reason: string;
}

/**
 * `audit accept-loss`: after a restore from a backup, accepts the entries
 * missing at the end of one chain, or of all, as lost.
 */
export const acceptLossCommand: AdminCommand<
  [AcceptLossOptions],
  'store' | 'openAudit'
> = async ({ store, openAudit }, { account, all, by, reason }) => {
  if ((account === undefined) === (all !== true))
    throw new AdminError('Give either --account <id> or --all');
  const statement = checkedStatement({ by, reason });
  const { chain, heads } = await openAudit();
  if (heads === undefined)
    throw new AdminError(
      'AUDIT_HEADS is not set, so there are no external heads that could prove a loss',
    );
  const accepted: ({ accountId: string } & Loss)[] = [];
  const renewed: { accountId: string; position: number }[] = [];
  const refused: ({ accountId: string } & ChainFault)[] = [];
  for (const accountId of await auditedAccounts(store, heads, account)) {
    const done = await acceptLoss(
      { store, chain, heads },
      accountId,
      statement,
    );
    if (done.kind === 'accepted') accepted.push({ accountId, ...done.loss });
    if (done.kind === 'head renewed')
      renewed.push({ accountId, position: done.position });
    if (done.kind === 'refused') refused.push({ accountId, ...done.fault });
  }
  if (accepted.length + renewed.length + refused.length === 0)
    throw new AdminError(
      'The audit has no fault, so there is no loss to accept',
    );
  return {
    document: { accepted, renewed, refused },
    lines: [
      ...accepted.map(
        (loss) => `${loss.accountId}  accepted as lost: ${describeLoss(loss)}`,
      ),
      ...renewed.map(
        ({ accountId, position }) =>
          `${accountId}  external head renewed after entry ${position}`,
      ),
      ...refused.map(
        (fault) =>
          `${fault.accountId}  NOT ACCEPTED: ${FAULTS[fault.what](fault)}; a restore cannot cause this`,
      ),
    ],
    failed: refused.length > 0,
  };
};

const describeLoss = ({ from, to, sealedAt, keptUntil }: Loss): string => {
  const entries = to > from ? `entries ${from} to ${to}` : `entry ${from}`;
  const since =
    keptUntil === undefined
      ? ''
      : ` written after ${shortTime(new Date(keptUntil))},`;
  return `${entries} and any later ones,${since} the last known sealed ${shortTime(new Date(sealedAt))}`;
};

const describeAccepted = (loss: AcceptedLoss): string =>
  `  lost: ${describeLoss(loss)}; accepted ${shortTime(new Date(loss.at))} by ${loss.by}: ${loss.reason}`;

const describeRenewed = ({ position, at, by, reason }: RenewedHead): string =>
  `  external head: was missing, renewed after entry ${position} ${shortTime(new Date(at))} by ${by}: ${reason}`;

function describe(report: ChainReport): string[] {
  const {
    accountId,
    verified,
    unsealed,
    oldestUnsealedAt,
    headPosition,
    fault,
  } = report;
  const before =
    fault?.loss === undefined
      ? `the ${verified} entries before it are unchanged`
      : `the ${verified} remaining entries are unchanged`;
  const open = unsealed === 0 ? '' : `, ${unsealed} not sealed yet`;
  const head =
    headPosition === null
      ? 'no external head: missing entries at the end would not be noticed'
      : `head at ${headPosition}`;
  const isLate =
    oldestUnsealedAt !== null &&
    Date.now() - oldestUnsealedAt.getTime() > SEALED_WITHIN_MS;
  return [
    fault === undefined
      ? `${accountId}  verified: ${verified} entries${open} (${head})`
      : `${accountId}  FAULT: ${FAULTS[fault.what](fault)}; ${before}`,
    ...report.losses.map(describeAccepted),
    ...report.renewedHeads.map(describeRenewed),
    ...(isLate
      ? [
          `  nothing has been sealed since ${shortTime(oldestUnsealedAt)}; check that a worker is running and that the workflow reconcile is not paused`,
        ]
      : []),
  ];
}

const FAULTS: Readonly<
  Record<ChainFault['what'], (fault: ChainFault) => string>
> = {
  changed: ({ position, entryId }) =>
    `entry ${position} (id ${entryId}) was changed`,
  removed: ({ position }) => `entry ${position} was removed`,
  'cut-off': ({ position, loss }) =>
    loss === undefined
      ? `the entries from ${position} on are missing`
      : `${describeLoss(loss)}, are missing; if a backup was restored, use: audit accept-loss`,
  'head not ours': () => 'the external head was not signed with AUDIT_KEY',
  'head missing': ({ position }) =>
    `the external head is missing, so entries from ${position} on may be missing; if AUDIT_HEADS is new, or its folder ` +
    'was lost, use: audit accept-loss',
};

/** The entries as lines of NDJSON, page by page. */
async function* auditPages(
  store: Store,
  accountId: string,
  time: { from?: Date; to?: Date },
): AsyncGenerator<string[]> {
  let after = 0;
  for (;;) {
    const page = { after, limit: PAGE };
    const rows = await store.asSystem((tx) =>
      rowsOfTime(tx, accountId, time, page),
    );
    yield rows.map((row) => `${JSON.stringify(toAuditEvent(row))}\n`);
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id ?? after;
  }
}

async function* joined(pages: AsyncIterable<string[]>): AsyncGenerator<string> {
  for await (const lines of pages) yield lines.join('');
}

/**
 * Writes a new file, readable by its owner only. Returns the number of lines.
 * Throws AdminError if the file exists.
 */
async function writeNew(
  path: string,
  pages: AsyncIterable<string[]>,
): Promise<number> {
  const file = await open(path, 'wx', 0o600).catch(
    (error: NodeJS.ErrnoException) => {
      throw new AdminError(
        error.code === 'EEXIST'
          ? `${path} already exists; choose another file`
          : `${path} cannot be written (${error.code})`,
      );
    },
  );
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

type Acceptance =
  | { kind: 'accepted'; loss: Loss }
  /**
   * No entry is known to be lost, but the external head was missing.
   * `position`: the last entry of the chain.
   */
  | { kind: 'head renewed'; position: number }
  /** The chain is intact; there is nothing to accept. */
  | { kind: 'whole' }
  /**
   * A restore from a backup cannot have caused this fault, so it cannot be
   * accepted.
   */
  | { kind: 'refused'; fault: ChainFault };

/**
 * Records an operator's statement that entries at the end of a chain were lost,
 * for example by a restore from a backup. Adds an entry to the chain with the
 * lost positions, the operator and the reason, and renews the external head;
 * `verifyChain` reports the loss from then on. If only the external head is
 * missing, it is renewed in the same way. If the restore removed the account
 * itself, there is no chain; the statement is then stored in the external head.
 */
export async function acceptLoss(
  deps: VerifyDeps & { heads: AuditHeads },
  accountId: string,
  statement: { by: string; reason: string },
): Promise<Acceptance> {
  const { store, chain, heads } = deps;
  const { fault, verified } = await verifyChain(deps, accountId);
  if (fault === undefined) return { kind: 'whole' };
  if (fault.what === 'head missing') {
    await addToChain(
      deps,
      accountId,
      HEAD_RENEWED,
      writeRenewal({ position: verified, ...statement }),
    );
    return { kind: 'head renewed', position: verified };
  }
  const { loss } = fault;
  if (loss === undefined) return { kind: 'refused', fault };
  const account = await store.asSystem((tx) => findAccount(tx, accountId));
  const kept = await heads.read(accountId);
  if (account === undefined) {
    // Entries without an account mean that the account was removed by other
    // means than a restore.
    if (kept === undefined || verified > 0) return { kind: 'refused', fault };
    const { signature: _, ...head } = kept;
    await heads.write(
      chain.sign({
        ...head,
        gone: { at: new Date().toISOString(), ...statement },
      }),
    );
    return { kind: 'accepted', loss };
  }
  await addToChain(
    deps,
    accountId,
    LOSS_ACCEPTED,
    writeLoss({ ...loss, ...statement }),
  );
  return { kind: 'accepted', loss };
}

/**
 * Adds the operator's statement to the chain as a sealed entry, and renews the
 * external head.
 */
async function addToChain(
  deps: VerifyDeps & { heads: AuditHeads },
  accountId: string,
  operation: string,
  details: string,
): Promise<void> {
  const { store } = deps;
  await store.asAccount(accountId, (tx) =>
    insertAuditEntry(tx, {
      actor: 'admin',
      operation,
      outcome: 'done',
      details,
    }),
  );
  await sealEntries(deps, accountId);
  await store.asSystem((tx) => writeHead(deps, tx, accountId));
}

/**
 * `audit copy-heads`: moves the external heads to another AUDIT_HEADS, while no
 * worker writes them.
 */
export const copyHeadsCommand: AdminCommand<
  [{ from: string; to: string }],
  'openAudit'
> = async ({ openAudit }, { from, to }) => {
  const { chain } = await openAudit();
  const source = await openAuditHeads(await existingStore(from, '--from'));
  const report = await copyHeads({
    from: source,
    to: await openAuditHeads(to),
    chain,
  });
  const { copied, present, newerThere, notOurs } = report;
  if (copied.length + present.length + newerThere.length + notOurs.length === 0)
    throw new AdminError(
      `There are no heads at ${from}; check the address (--from)`,
    );
  return {
    document: { from, to, ...report },
    lines: [
      `${counted(copied.length, 'head')} copied; ${present.length} were there already.`,
      ...newerThere.map(
        (id) =>
          `FAULT: ${id}  the head at --to is newer, so workers write there, or --from is an old copy`,
      ),
      ...notOurs.map(
        (id) =>
          `FAULT: ${id}  a head was not signed with AUDIT_KEY; investigate before you go on`,
      ),
    ],
    failed: newerThere.length + notOurs.length > 0,
  };
};
