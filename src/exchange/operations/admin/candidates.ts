import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { withinAccount } from '../../platform/database/database.ts';
import {
  decideCandidate,
  listCandidates,
  type StoredCandidate,
} from '../../queries/network-query/source-candidate-store.ts';
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

/** `candidates list`: Patients of sources that may be ours and were not collected. */
export async function listCandidatesCommand(
  { store }: Target,
  { account, all }: { account: string; all?: boolean },
): Promise<AdminResult> {
  const candidates = await store.asSystem(async (tx) => {
    await requireAccount(tx, account);
    return listCandidates(tx, { accountId: account, isAll: all === true });
  });
  return {
    document: { accountId: account, candidates: candidates.map(describe) },
    table: {
      head: ['candidate', 'patient', 'source', 'its id', 'grade', 'agrees', 'contradicts', 'status', 'found'],
      rows: candidates.map((each) => [
        ...[each.id, each.patient_id, each.connection, each.source_patient_id, each.grade],
        ...[each.agrees.join(' '), each.contradicts.join(' '), each.status, shortTime(each.found_at)],
      ]),
    },
  };
}

const MEANING = {
  accepted: 'is this patient: the next query of the source collects it while it resembles the patient.',
  refused: 'is another person: it is never collected for this patient. What was collected before stays.',
};

/** `candidates accept` and `refuse`. The opposite decision replaces an earlier one; each is in the audit. */
export const decideCandidateCommand =
  (status: 'accepted' | 'refused') =>
  async ({ store }: Target, id: string, options: Statement): Promise<AdminResult> => {
    const statement = checkedStatement(options);
    const decided = await store.asSystem(async (tx) => {
      const candidate = await decideCandidate(tx, id, status);
      if (candidate === undefined)
        throw new AdminError(
          'Candidate not found; give its id, as listed by: npm run admin -- candidates list',
        );
      await withinAccount(tx, candidate.account_id, (own) =>
        insertAuditEntry(own, {
          ...{ actor: ADMIN_ACTOR, outcome: 'done', patientId: candidate.patient_id, targetId: id },
          operation: status === 'accepted' ? 'acceptSourceCandidate' : 'refuseSourceCandidate',
          details: JSON.stringify(statement),
        }),
      );
      return candidate;
    });
    return {
      document: { candidate: describe(decided) },
      lines: [`The Patient ${decided.source_patient_id} of ${decided.source} ${MEANING[status]}`],
    };
  };

const describe = ({ id, patient_id, connection, source, source_patient_id, ...rest }: StoredCandidate) => ({
  ...{ id, patientId: patient_id, connection, source, sourcePatientId: source_patient_id },
  ...{ grade: rest.grade, agrees: rest.agrees, contradicts: rest.contradicts, status: rest.status },
  ...{ foundAt: rest.found_at, decidedAt: rest.decided_at },
});
