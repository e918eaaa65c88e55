import { SOURCE_TYPES } from '../../../contract/primitives.ts';
import { minuteOf } from '../../../lib/time.ts';
import type { SystemTx } from '../../platform/database/database.ts';
import {
  decideCandidate,
  listCandidates,
  type StoredCandidate,
} from '../../queries/network-query/source-candidate-store.ts';
import { readGateways } from '../../sources/connections/gateway-store.ts';
import { reportSources } from '../../sources/health/report.ts';
import {
  pauseConnection,
  readConnections,
  resumeConnection,
} from '../../sources/health/source-health.ts';
import { auditAdmin, auditEverywhere, ofAccount } from './accounts.ts';
import {
  type AdminCommand,
  AdminError,
  checkedStatement,
  type Statement,
  shortTime,
} from './command.ts';

/**
 * Lists the state of every source: whether it is called, why not, since when,
 * and how many queries wait for it.
 */
export const listSourcesCommand: AdminCommand = async ({ store }) => {
  const sources = await store.asSystem(reportSources);
  return {
    document: { sources },
    table: {
      head: [
        'Source',
        'State',
        'Since',
        'By',
        'Reason',
        'Next probe',
        'Waiting queries',
      ],
      rows: sources.map(
        ({ source, state, since, by, reason, nextProbeAt, waitingQueries }) => [
          source,
          state,
          since === undefined ? '–' : minuteOf(since),
          by ?? '–',
          reason ?? '–',
          nextProbeAt === undefined ? '–' : minuteOf(nextProbeAt),
          String(waitingQueries),
        ],
      ),
    },
  };
};

/**
 * Stops all calls to a source until it is resumed. Its queries wait; up to 14
 * days of it do not count for their deadlines.
 */
export const pauseSourceCommand: AdminCommand<[string, Statement]> = async (
  { store },
  source,
  options,
) => {
  const statement = checkedStatement(options);
  await store.asSystem(async (tx) => {
    await requireSource(tx, source);
    await pauseConnection(tx, source, statement);
    await auditEverywhere(tx, 'pauseSource', source);
  });
  return {
    document: { source, state: 'paused' },
    lines: [
      `Paused ${source}: within a second no worker calls it. Its queries wait; up to 14 days do not count for their deadlines.`,
      `To resume: npm run admin -- sources resume ${source}`,
    ],
  };
};

/**
 * Ends a pause. Waiting queries call the source again within some minutes, one
 * after the other.
 */
export const resumeSourceCommand: AdminCommand<[string]> = async (
  { store },
  source,
) => {
  await store.asSystem(async (tx) => {
    await requireSource(tx, source);
    if (!(await resumeConnection(tx, source)))
      throw new AdminError(`The source ${source} is not paused`);
    await auditEverywhere(tx, 'resumeSource', source);
  });
  return {
    document: { source, state: 'ok' },
    lines: [
      `Resumed ${source}. New queries call it at once, waiting ones within some minutes.`,
    ],
  };
};

async function requireSource(tx: SystemTx, source: string): Promise<void> {
  const known = new Set<string>([
    ...SOURCE_TYPES,
    ...(await readConnections(tx)).keys(),
  ]);
  if (!known.has(source) && !(await isGateway(tx, source)))
    throw new AdminError(
      `"${source}" is not a source; expected one of ${[...known].join(', ')}`,
    );
}

/** Gateways of networks are known by their ids. */
const isGateway = async (tx: SystemTx, id: string): Promise<boolean> =>
  UUID.test(id) && (await readGateways(tx, [id])).size > 0;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * `candidates list`: Patients of sources that may be ours and were not
 * collected.
 */
export const listCandidatesCommand: AdminCommand<
  [{ account: string; all?: boolean }]
> = async ({ store }, { account, all }) => {
  const candidates = await ofAccount(store, account, (tx) =>
    listCandidates(tx, { accountId: account, isAll: all === true }),
  );
  return {
    document: { accountId: account, candidates: candidates.map(describe) },
    table: {
      head: [
        'candidate',
        'patient',
        'source',
        'its id',
        'grade',
        'agrees',
        'contradicts',
        'status',
        'found',
      ],
      rows: candidates.map((each) => [
        each.id,
        each.patient_id,
        each.connection,
        each.source_patient_id,
        each.grade,
        each.agrees.join(' '),
        each.contradicts.join(' '),
        each.status,
        shortTime(each.found_at),
      ]),
    },
  };
};

const MEANING = {
  accepted:
    'is this patient: the next query of the source collects it while it resembles the patient.',
  refused:
    'is another person: it is never collected for this patient. What was collected before stays.',
};

/**
 * `candidates accept` and `refuse`. The opposite decision replaces an earlier
 * one; each is in the audit.
 */
export const decideCandidateCommand =
  (status: 'accepted' | 'refused'): AdminCommand<[string, Statement]> =>
  async ({ store }, id, options) => {
    const statement = checkedStatement(options);
    const decided = await store.asSystem(async (tx) => {
      const candidate = await decideCandidate(tx, id, status);
      if (candidate === undefined)
        throw new AdminError(
          'Candidate not found; give its id, as listed by: npm run admin -- candidates list',
        );
      const operation =
        status === 'accepted'
          ? 'acceptSourceCandidate'
          : 'refuseSourceCandidate';
      const about = { patientId: candidate.patient_id, details: statement };
      await auditAdmin(tx, candidate.account_id, operation, id, about);
      return candidate;
    });
    return {
      document: { candidate: describe(decided) },
      lines: [
        `The Patient ${decided.source_patient_id} of ${decided.source} ${MEANING[status]}`,
      ],
    };
  };

const describe = ({
  id,
  patient_id,
  connection,
  source,
  source_patient_id,
  ...rest
}: StoredCandidate) => ({
  id,
  patientId: patient_id,
  connection,
  source,
  sourcePatientId: source_patient_id,
  grade: rest.grade,
  agrees: rest.agrees,
  contradicts: rest.contradicts,
  status: rest.status,
  foundAt: rest.found_at,
  decidedAt: rest.decided_at,
});
