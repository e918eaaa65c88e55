import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';
/** Operations that show a patient, besides the GET operations of the contract. */
import SHOWING from './showing-operations.json' with { type: 'json' };

/** One time that data about a patient left the exchange. */
export interface Disclosure {
  at: Date;
  door: Door;
  /** Who received it: the caller as in the audit, an address, a destination's origin, or sources. */
  recipient: string;
  /** The name of a caller's key or client, if it has one. */
  label: string | null;
  remoteAddress: string | null;
  /** Operation, type of webhook, or kind of transmission. */
  what: string;
  /** Id of the object, such as the message or the query. */
  targetId: string | null;
  /** Null: not stated. Requests to read state none. */
  purpose: string | null;
}

export type Door =
  | 'api'
  | 'embedded page'
  | 'link'
  | 'fhir api'
  | 'bulk export'
  | 'message'
  | 'webhook'
  | 'network query';

/** The disclosures of a patient in a period, oldest first; at most `limit`. `to` is exclusive. */
export async function readDisclosures(
  tx: AccountTx,
  patientId: string,
  {
    from,
    to,
    limit,
    readOperations,
  }: { from: Date; to: Date; limit: number; readOperations: readonly string[] },
): Promise<Disclosure[]> {
  const showing = [...readOperations, ...SHOWING];
  const within = (time: string) => sql`${sql.ref(time)} >= ${from} and ${sql.ref(time)} < ${to}`;
  const { rows } = await sql<Disclosure>`
    select * from (
      select a.at,
        case when a.operation = 'fhirExport' then 'bulk export' when a.operation like 'fhir%' then 'fhir api'
          when a.actor = 'link' then 'link' when a.actor like 'embed:%' then 'embedded page' else 'api' end as door,
        a.actor as recipient, a.remote_address as "remoteAddress", a.operation as what, a.target_id as "targetId",
        null as purpose
      from audit_entry a
      where a.patient_id = ${patientId} and a.operation = any(${showing}::text[]) and a.outcome like '2%'
        and ${within('a.at')}
      union all
      select m.sent_at, 'message', m.destination, null, m.transport_method, m.id::text, null
      from message m where m.patient_id = ${patientId} and m.direction = 'outbound' and m.status = 'completed'
        and ${within('m.sent_at')}
      union all
      select e.delivered_at, 'webhook', coalesce(substring(d.url from '^[a-z]+://[^/?#]+'), '–'), null, e.type,
        coalesce(e.copy_of, e.id)::text, null
      from event e left join webhook_destination d on d.id = e.destination_id
      where e.patient_id = ${patientId} and e.delivered_at is not null and ${within('e.delivered_at')}
      union all
      select q.started_at, 'network query',
        (select string_agg(asked->>'source', ' ') from jsonb_array_elements(q.requested) as asked), null,
        'demographics, to find the patient', q.id::text, q.purpose_of_use
      from network_query q where q.patient_id = ${patientId} and ${within('q.started_at')}
    ) as disclosure order by at, door limit ${limit}`.execute(tx.db);
  return rows;
}
