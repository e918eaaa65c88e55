import {
  liftLegalHold,
  listLegalHolds,
  placeLegalHold,
  type StoredLegalHold,
} from '../../people/patients/legal-hold-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { type SystemTx, withinAccount } from '../../platform/database/database.ts';
import { requireAccount } from './accounts.ts';
import {
  ADMIN_ACTOR,
  AdminError,
  type AdminResult,
  type AdminTarget,
  checkedStatement,
  type Statement,
  shortTime,
} from './command.ts';

type Target = Pick<AdminTarget, 'store'>;

/** `holds place`: from now on the patient cannot be deleted, and nothing about the patient is removed by age. */
export async function placeHoldCommand(
  { store }: Target,
  options: Statement & { account: string; patient: string },
): Promise<AdminResult> {
  const statement = checkedStatement(options);
  const hold = await store.asSystem(async (tx) => {
    await requireAccount(tx, options.account);
    const placed = await placeLegalHold(tx, {
      accountId: options.account,
      patientId: options.patient,
      ...statement,
    });
    if (placed === undefined)
      throw new AdminError(`Patient ${options.patient} not found in this account; give the id of a patient`);
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
}

/** `holds lift`. Other holds on the same patient stay in force. */
export async function liftHoldCommand(
  { store }: Target,
  id: string,
  options: Statement,
): Promise<AdminResult> {
  const statement = checkedStatement(options);
  const { lifted, remaining } = await store.asSystem(async (tx) => {
    const hold = await liftLegalHold(tx, id);
    if (hold === undefined)
      throw new AdminError('Legal hold not found; give its id, as listed by: npm run admin -- holds list');
    await auditHold(tx, 'liftLegalHold', hold, statement);
    const holds = await listLegalHolds(tx, hold.account_id);
    return { lifted: hold, remaining: holds.filter((other) => other.patient_id === hold.patient_id).length };
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
}

/** `holds list`: the holds in force. Those that were lifted are in the audit. */
export async function listHoldsCommand({ store }: Target, accountId: string): Promise<AdminResult> {
  const holds = await store.asSystem(async (tx) => {
    await requireAccount(tx, accountId);
    return listLegalHolds(tx, accountId);
  });
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
}

const describe = ({ id, patient_id, placed_by, reason, placed_at }: StoredLegalHold) => ({
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
  statement: Statement,
): Promise<void> =>
  withinAccount(tx, hold.account_id, (own) =>
    insertAuditEntry(own, {
      ...{ actor: ADMIN_ACTOR, operation, outcome: 'done' },
      ...{ patientId: hold.patient_id, targetId: hold.id },
      details: JSON.stringify(statement),
    }),
  );
