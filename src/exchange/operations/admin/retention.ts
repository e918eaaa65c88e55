import {
  liftLegalHold,
  listLegalHolds,
  placeLegalHold,
  type StoredLegalHold,
} from '../../people/patients/legal-hold-store.ts';
import type { SystemTx } from '../../platform/database/database.ts';
import { RETENTION_KINDS } from '../retention/kinds.ts';
import { listRules, setRule } from '../retention/rule-store.ts';
import {
  type RetentionKind,
  removedBefore,
  removeSlice,
} from '../retention/sweep.ts';
import { auditAdmin, auditEverywhere, ofAccount } from './accounts.ts';
import {
  type AdminCommand,
  AdminError,
  type AdminResult,
  type AdminTarget,
  checkedStatement,
  type Statement,
  shortTime,
} from './command.ts';

type Target = Pick<AdminTarget, 'store'>;

/** As in the migration: not less than any retry, deadline or link needs. */
const DAYS_MIN = 30;
const DAYS_MAX = 36_500;
const SLICE = 500;

/**
 * `retention report`, and the dry run: the rule of each kind, and what it would
 * remove now. Changes nothing.
 */
export const retentionReportCommand: AdminCommand = async ({ store }) => {
  const rules = new Map(
    (await store.asSystem(listRules)).map((rule) => [rule.kind, rule]),
  );
  const kinds = [];
  for (const kind of RETENTION_KINDS) {
    const rule = rules.get(kind.name);
    const count =
      rule &&
      (await store.asSystem((tx) => kind.count(tx, removedBefore(rule.days))));
    kinds.push({
      kind: kind.name,
      days: rule?.days ?? null,
      due: count?.due ?? 0,
      held: count?.held ?? 0,
      oldest: count?.oldest ?? null,
      removed: rule?.removed ?? 0,
      sweptAt: rule?.swept_at ?? null,
    });
  }
  return {
    document: { kinds },
    table: {
      head: [
        'kind',
        'kept',
        'due now',
        'oldest',
        'on legal hold',
        'removed so far',
        'last sweep',
      ],
      rows: kinds.map(({ kind, days, due, oldest, held, removed, sweptAt }) => [
        kind,
        days === null ? 'for ever' : `${days} days`,
        String(due),
        shortTime(oldest),
        String(held),
        String(removed),
        shortTime(sweptAt),
      ]),
    },
    lines: [
      '',
      ...RETENTION_KINDS.map(
        ({ name, description }) => `${name}: ${description}`,
      ),
    ],
  };
};

interface SetRetentionOptions extends Statement {
  days?: string;
  forever?: boolean;
}

/**
 * `retention set`. Takes effect with the next round of reconcile, in all
 * accounts.
 */
export const setRetentionCommand: AdminCommand<
  [string, SetRetentionOptions]
> = async ({ store }, name, options) => {
  const kind = retentionKindNamed(name);
  const days = parseDays(options);
  const statement = checkedStatement(options);
  await store.asSystem(async (tx) => {
    await setRule(tx, kind.name, days);
    const details = { kind: kind.name, days: days ?? 'for ever', ...statement };
    await auditEverywhere(tx, 'setRetention', undefined, details);
  });
  return {
    document: { kind: kind.name, days: days ?? null },
    lines: [
      days === undefined
        ? `${kind.name} are kept for ever.`
        : `${kind.name} are removed after ${days} days. The first sweep starts with the next round of reconcile; see: retention report`,
    ],
  };
};

/** `retention run`: applies the rules now instead of once a day. */
export async function runRetentionCommand(
  target: Target,
  { dryRun = false },
): Promise<AdminResult> {
  if (dryRun) return retentionReportCommand(target);
  const removed: { kind: string; removed: number }[] = [];
  for (const kind of RETENTION_KINDS) {
    let total = 0;
    for (;;) {
      const slice = await removeSlice(target.store, kind, {
        limit: SLICE,
        isAsked: true,
      });
      total += slice;
      if (slice < SLICE) break;
    }
    removed.push({ kind: kind.name, removed: total });
  }
  return {
    document: { removed },
    lines: removed.map(
      ({ kind, removed: count }) => `${kind}: ${count} removed`,
    ),
  };
}

function retentionKindNamed(name: string): RetentionKind {
  const kind = RETENTION_KINDS.find((known) => known.name === name);
  if (kind !== undefined) return kind;
  const names = RETENTION_KINDS.map((known) => known.name).join(', ');
  throw new AdminError(
    `"${name}" is not a kind of data; expected one of ${names}`,
  );
}

function parseDays({ days, forever }: SetRetentionOptions): number | undefined {
  if ((days === undefined) === (forever !== true))
    throw new AdminError('Give either --days <n> or --forever');
  if (days === undefined) return undefined;
  const count = /^\d{1,5}$/.test(days) ? Number(days) : Number.NaN;
  if (count >= DAYS_MIN && count <= DAYS_MAX) return count;
  throw new AdminError(
    `--days must be a number from ${DAYS_MIN} to ${DAYS_MAX}`,
  );
}

/**
 * `holds place`: from now on the patient cannot be deleted, and nothing about
 * the patient is removed by age.
 */
export const placeHoldCommand: AdminCommand<
  [Statement & { account: string; patient: string }]
> = async ({ store }, options) => {
  const statement = checkedStatement(options);
  const { account: accountId, patient: patientId } = options;
  const hold = await ofAccount(store, accountId, async (tx) => {
    const placed = await placeLegalHold(tx, {
      accountId,
      patientId,
      ...statement,
    });
    if (placed === undefined)
      throw new AdminError(
        `Patient ${patientId} not found in this account; give the id of a patient`,
      );
    await auditHold(tx, 'placeLegalHold', placed, statement);
    return placed;
  });
  return {
    document: { hold: describe(hold) },
    lines: [
      `Placed the legal hold ${hold.id} on patient ${hold.patient_id}: the patient cannot be deleted until it is lifted.`,
      `To lift it: npm run admin -- holds lift ${hold.id} --by … --reason …`,
    ],
  };
};

/** `holds lift`. Other holds on the same patient stay in force. */
export const liftHoldCommand: AdminCommand<[string, Statement]> = async (
  { store },
  id,
  options,
) => {
  const statement = checkedStatement(options);
  const { lifted, remaining } = await store.asSystem(async (tx) => {
    const hold = await liftLegalHold(tx, id);
    if (hold === undefined)
      throw new AdminError(
        'Legal hold not found; give its id, as listed by: npm run admin -- holds list',
      );
    await auditHold(tx, 'liftLegalHold', hold, statement);
    const holds = await listLegalHolds(tx, hold.account_id);
    return {
      lifted: hold,
      remaining: holds.filter((other) => other.patient_id === hold.patient_id)
        .length,
    };
  });
  return {
    document: { hold: describe(lifted), lifted: true, remaining },
    lines: [
      `Lifted the legal hold ${lifted.id}.`,
      remaining === 0
        ? `Patient ${lifted.patient_id} is under no legal hold any more.`
        : `Patient ${lifted.patient_id} stays under ${remaining} other legal hold${remaining === 1 ? '' : 's'}.`,
    ],
  };
};

/**
 * `holds list`: the holds in force. Those that were lifted are in the audit.
 */
export const listHoldsCommand: AdminCommand<[string]> = async (
  { store },
  accountId,
) => {
  const holds = await ofAccount(store, accountId, (tx) =>
    listLegalHolds(tx, accountId),
  );
  return {
    document: { accountId, holds: holds.map(describe) },
    table: {
      head: ['hold', 'patient', 'placed', 'by', 'reason'],
      rows: holds.map((hold) => [
        hold.id,
        hold.patient_id,
        shortTime(hold.placed_at),
        hold.placed_by,
        hold.reason,
      ]),
    },
  };
};

const describe = ({
  id,
  patient_id,
  placed_by,
  reason,
  placed_at,
}: StoredLegalHold) => ({
  id,
  patientId: patient_id,
  placedBy: placed_by,
  reason,
  placedAt: placed_at,
});

const auditHold = (
  tx: SystemTx,
  operation: string,
  hold: StoredLegalHold,
  details: Statement,
) =>
  auditAdmin(tx, hold.account_id, operation, hold.id, {
    patientId: hold.patient_id,
    details,
  });
