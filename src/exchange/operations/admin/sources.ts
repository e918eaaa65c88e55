import { SOURCE_TYPES } from '../../../contract/primitives.ts';
import { listAccounts } from '../../access/accounts/account-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { type SystemTx, withinAccount } from '../../platform/database/database.ts';
import {
  decideCandidate,
  listCandidates,
  type StoredCandidate,
} from '../../queries/network-query/source-candidate-store.ts';
import { reportSources } from '../../sources/health/report.ts';
import { pauseConnection, readConnections, resumeConnection } from '../../sources/health/source-health.ts';
import { auditAdmin, requireAccount } from './accounts.ts';
import {
  ADMIN_ACTOR,
  AdminError,
  type AdminResult,
  type AdminTarget,
  checkedStatement,
  type Statement,
  shortTime,
} from './command.ts';

const TEXT_MAX = 200;

/** Lists the state of every source: whether it is called, why not, since when, and how many queries wait for it. */
export async function listSourcesCommand({ store }: Pick<AdminTarget, 'store'>): Promise<AdminResult> {
  const sources = await store.asSystem(reportSources);
  return {
    document: { sources },
    table: {
      head: ['Source', 'State', 'Since', 'Reason', 'Next probe', 'Waiting queries'],
      rows: sources.map(({ source, state, since, reason, nextProbeAt, waitingQueries }) => [
        source,
        state,
        since ?? '–',
        reason ?? '–',
        nextProbeAt ?? '–',
        String(waitingQueries),
      ]),
    },
  };
}

/** Stops all calls to a source until it is resumed. Its queries wait; up to 14 days of it do not count for their deadlines. */
export async function pauseSourceCommand(
  { store }: Pick<AdminTarget, 'store'>,
  source: string,
  options: { by: string; reason: string },
): Promise<AdminResult> {
  const [by, reason] = [checkedText('--by', options.by), checkedText('--reason', options.reason)];
  await store.asSystem(async (tx) => {
    await requireSource(tx, source);
    await pauseConnection(tx, source, { by, reason });
    await auditEverywhere(tx, 'pauseSource', source);
  });
  return {
    document: { source, state: 'paused' },
    lines: [
      `Paused ${source}: within a second no worker calls it. Its queries wait; up to 14 days do not count for their deadlines.`,
      `To resume: npm run admin -- sources resume ${source}`,
    ],
  };
}

/** Ends a pause. Waiting queries call the source again within some minutes, one after the other. */
export async function resumeSourceCommand(
  { store }: Pick<AdminTarget, 'store'>,
  source: string,
): Promise<AdminResult> {
  await store.asSystem(async (tx) => {
    await requireSource(tx, source);
    if (!(await resumeConnection(tx, source))) throw new AdminError(`The source ${source} is not paused`);
    await auditEverywhere(tx, 'resumeSource', source);
  });
  return {
    document: { source, state: 'ok' },
    lines: [`Resumed ${source}. New queries call it at once, waiting ones within some minutes.`],
  };
}

async function requireSource(tx: SystemTx, source: string): Promise<void> {
  const known = new Set<string>([...SOURCE_TYPES, ...(await readConnections(tx)).keys()]);
  if (!known.has(source))
    throw new AdminError(`"${source}" is not a source; expected one of ${[...known].join(', ')}`);
}

/** What concerns every account is recorded in the audit of each one. */
export async function auditEverywhere(tx: SystemTx, operation: string, subject: string): Promise<void> {
  for (const { id } of await listAccounts(tx)) await auditAdmin(tx, id, operation, subject);
}

function checkedText(option: string, text: string): string {
  const trimmed = text.trim();
  if (trimmed.length >= 1 && trimmed.length <= TEXT_MAX) return trimmed;
  throw new AdminError(`${option} must have 1 to ${TEXT_MAX} characters`);
}

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
