import type pg from 'pg';

interface Owner {
  accountId: string;
  facilityId: string;
  cohortId: string;
}

const IN_ONE_STATEMENT = 50_000;

/**
 * Everything that a patient with one ended query leaves for ever, apart from
 * the record itself.
 */
const ROWS_OF_A_PATIENT: readonly string[] = [
  `insert into patient (id, account_id, external_id, first_names, last_names, dob, gender, addresses, contacts,
     personal_identifiers, facility_ids, hie_opt_out, treatment_relationship, created_at, updated_at)
   select p.id, p.account_id, 'mass-' || n, array[(array['Ann','Bea','Carla','Dina','Emma','Fay','Gina','Hal','Ivan','Karl'])[1 + n % 10]],
     array[(array['Adams','Brown','Clark','Davis','Evans','Foster','Garcia','Hill'])[1 + n % 8] || translate(n::text, '0123456789', 'abcdefghij')],
     date '1930-01-01' + (n::bigint * 7919 % 32000)::integer, (array['M','F'])[1 + n % 2],
     jsonb_build_array(jsonb_build_object('addressLine1', (1 + n % 9000) || ' Main Street', 'city', 'Boston', 'state', 'MA',
       'zip', lpad((1000 + n % 90000)::text, 5, '0'), 'country', 'USA')),
     jsonb_build_array(jsonb_build_object('phone', (2000000000 + n)::text, 'email', 'p' || n || '@mail.example.com')),
     jsonb_build_array(jsonb_build_object('type', 'ssn', 'value', lpad(n::text, 9, '0'))),
     array[p.facility_id], false, true, p.at, p.at from made p`,
  `insert into patient_identity_key (account_id, key, patient_id)
   select p.account_id, sha256(convert_to('key' || n, 'UTF8')), p.id from made p`,
  `insert into patient_search (patient_id, account_id, text)
   select p.id, p.account_id, patient_search_text(patient) from made p join patient using (id)`,
  'insert into cohort_member (account_id, cohort_id, patient_id) select p.account_id, p.cohort_id, p.id from made p',
  `insert into network_query (id, account_id, patient_id, purpose_of_use, origin, requested, status, started_at, ended_at)
   select p.query_id, p.account_id, p.id, 'treatment', 'bulk', '[{"type": "lab"}]', 'completed', p.at, p.at from made p`,
  `insert into network_query_run (query_id, run, account_id, sources, requested_at, workflow_started_at, ended_at)
   select p.query_id, 0, p.account_id, '{lab}', p.at, p.at, p.at from made p`,
  `insert into network_query_attempt (query_id, source, attempt, run, account_id, status, started_at, completed_at,
     callback_hash, collected, pages, resources, documents)
   select p.query_id, 'lab', 1, 0, p.account_id, 'completed', p.at, p.at, sha256(convert_to('callback' || n, 'UTF8')), true, 1, 3, 1
   from made p`,
  `insert into network_query_timeline (query_id, account_id, at, source, attempt, kind, message, once_key, is_gap)
   select p.query_id, p.account_id, p.at, 'lab', 1, kind, 'What happened, in one sentence of the usual length.', kind, false
   from made p cross join unnest(array['accepted', 'asked', 'completed']) kind`,
  `insert into event (id, account_id, patient_id, destination_id, type, fact_key, request_id, body, occurred_at, status,
     attempts, last_attempt_at, delivered_at, opened_at)
   select p.event_id, p.account_id, p.id, p.destination_id, 'network-query.lab',
     'mass/' || n, p.query_id,
     jsonb_build_object('meta', jsonb_build_object('type', 'network-query.lab', 'when', p.at, 'requestId', p.query_id)),
     p.at, 'delivered', 1, p.at, p.at, p.at from made p`,
  `insert into event_attempt (event_id, attempt, account_id, at, http_status, outcome)
   select p.event_id, 1, p.account_id, p.at, 200, 'delivered' from made p`,
  `insert into audit_entry (account_id, at, actor, operation, patient_id, target_id, outcome, position, mac)
   select p.account_id, p.at, 'key mass', operation, p.id, p.id::text, '200', 1000000 + 2 * n + place,
     sha256(convert_to('mac' || n || place, 'UTF8'))
   from made p cross join unnest(array['createPatient', 'startNetworkQuery']) with ordinality o (operation, place)`,
  `insert into idempotency_key (account_id, key_hash, request_hash, status, answer, created_at, patient_id)
   select p.account_id, sha256(convert_to('idempotency' || n, 'UTF8')), sha256(convert_to('request', 'UTF8')), 200, '{"sealed": "…"}',
     now(), p.id from made p where n % 30 = 0`,
];

/**
 * The accounts that patients are given to in turn: the measured one, and others
 * that have nothing else.
 */
export async function shareAmong(
  admin: pg.Client,
  owner: Owner,
  accounts: number,
): Promise<void> {
  const { accountId, facilityId, cohortId } = owner;
  await admin.query(`create temporary table owner as
    select n as owner_place, '${facilityId}'::uuid as facility_id,
      case n when 0 then '${accountId}'::uuid else gen_random_uuid() end as account_id,
      case n when 0 then '${cohortId}'::uuid else gen_random_uuid() end as cohort_id,
      (select id from webhook_destination where account_id = '${accountId}') as destination_id
    from generate_series(0, ${accounts - 1}) n;
    insert into account select (jsonb_populate_record(account, jsonb_build_object('id', owner.account_id, 'name', 'Account ' || owner_place))).*
    from account, owner where account.id = '${accountId}' and owner_place > 0`);
}

/**
 * Brings the accounts of `shareAmong`, all together, from `from` to `to`
 * patients by SQL. Triggers and foreign keys are off meanwhile: the rows are
 * what they would have written, with the patients indexed, compared and
 * matched.
 */
export async function growTo(
  admin: pg.Client,
  from: number,
  to: number,
): Promise<void> {
  await admin.query(
    `set session_replication_role = replica; set synchronous_commit = off`,
  );
  for (let first = from + 1; first <= to; first += IN_ONE_STATEMENT) {
    const last = Math.min(to, first + IN_ONE_STATEMENT - 1);
    // UUIDs of version 7, as the product makes them: in the order of time.
    const id = (mark: string) =>
      `(lpad(to_hex(1700000000000 + n::bigint * 1000), 12, '0') || '7${mark}' || substr(md5('${mark}' || n), 1, 2) || '8' || substr(md5('${mark}' || n), 4, 15))::uuid`;
    await admin.query(`create temporary table made as
      select n, ${id('a')} as id, ${id('b')} as query_id, ${id('c')} as event_id,
        to_timestamp(1700000000 + n) as at, owner.*
      from generate_series(${first}, ${last}) n join owner on owner_place = n % (select count(*) from owner)`);
    for (const statement of ROWS_OF_A_PATIENT) await admin.query(statement);
    await admin.query('drop table made');
  }
  await admin.query(`reset session_replication_role; reset synchronous_commit`);
  // As autovacuum has done some minutes later.
  await admin.query('vacuum analyze');
}
