import { sql } from 'kysely';
import type { AccountTx } from '../../../platform/database/database.ts';
import { rowsOf } from '../../../platform/database/pg-arrays.ts';
import type { PatientAtGateways } from '../../../sources/directory/rules/choose-gateways.ts';
import type { GatewayCounts } from '../rules/gateway-outcome.ts';

/** What earlier queries have shown of a patient at the gateways of a network. */
export async function readPatientAtGateways(
  tx: AccountTx,
  {
    patientId,
    connectionId,
    nobodyForDays,
  }: { patientId: string; connectionId: string; nobodyForDays: number },
): Promise<PatientAtGateways> {
  const rows = await rowsOf(
    tx,
    sql<{ home_community: string; was_found: boolean; is_nobody: boolean }>`
      select home_community, bool_or(state = 'found') as was_found,
        bool_or(state = 'nobody' and ended_at > now() - make_interval(days => ${nobodyForDays})) as is_nobody
      from gateway_ask where patient_id = ${patientId} and connection_id = ${connectionId} and ended_at is not null
      group by home_community`,
  );
  const named = (which: 'was_found' | 'is_nobody') =>
    new Set(rows.filter((row) => row[which]).map((row) => row.home_community));
  return { found: named('was_found'), nobody: named('is_nobody') };
}

/** How the gateways of a query's attempts stand, by `<source>/<attempt>`. */
export async function countAsksOfQuery(
  tx: AccountTx,
  queryId: string,
): Promise<ReadonlyMap<string, GatewayCounts>> {
  const rows = await rowsOf(
    tx,
    sql<GatewayCounts & { key: string }>`
      select source || '/' || attempt as key, count(*) as asked, count(*) filter (where state = 'found') as found,
        count(*) filter (where state = 'nobody') as nobody, count(*) filter (where state = 'failed') as failed,
        count(*) filter (where state in ('open', 'waiting')) as waiting
      from gateway_ask where query_id = ${queryId} group by source, attempt`,
  );
  return new Map(rows.map(({ key, ...counts }) => [key, counts]));
}
