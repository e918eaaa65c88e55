/** The roles of the exchange. None can log in; logins are members of them. */
export const ROLES = [
  'exchange_app',
  'exchange_system',
  'exchange_admin',
  'exchange_backup',
  'exchange_responder',
] as const;

/**
 * What a role may do with a table: S(elect), I(nsert), U(pdate), D(elete),
 * T(runcate), R(eferences), trig(G)er; columns in brackets where it is not all
 * of them.
 */
export type TableGrants = Readonly<
  Partial<Record<(typeof ROLES)[number], string>>
>;

/**
 * A table of an account: the service changes its rows, the account's own by
 * requests and all by the system.
 */
const OF_ACCOUNT: TableGrants = {
  exchange_app: 'SIUD',
  exchange_system: 'SIUD',
  exchange_admin: 'SIUD',
  exchange_backup: 'S',
};

/** What is not about one account, or is known before the account is. */
const OF_SERVICE: TableGrants = {
  exchange_system: 'SIUD',
  exchange_admin: 'SIUD',
  exchange_backup: 'S',
};

const AUDIT_COLUMNS =
  'account_id,actor,details,operation,outcome,patient_id,remote_address,since,target_id,times';

/** The decision for each table; docs/decisions/0079-roles-by-task.md. */
export const TABLE_GRANTS: Readonly<Record<string, TableGrants>> = {
  ...each(OF_ACCOUNT, [
    'aal2_challenge',
    'abandoned_job',
    'activity_start',
    'answered_page',
    'bulk_chunk',
    'bulk_export',
    'bulk_export_part',
    'bulk_export_patient',
    'bulk_patient',
    'bulk_request',
    'bulk_sweep',
    'bulk_trial_identifier',
    'bulk_trial_key',
    'cohort',
    'cohort_member',
    'cohort_schedule',
    'cohort_size_change',
    'consent',
    'consolidated_query',
    'contributed_resource',
    'contribution',
    'deferred_discovery',
    'deferred_question',
    'direct_delivery',
    'direct_mailbox',
    'discharge_follow_up',
    'document',
    'document_conversion',
    'document_rendition',
    'document_sha1',
    'erasure',
    'event',
    'event_attempt',
    'facility',
    'fhir_subscription',
    'gateway_ask',
    'health_link',
    'health_link_opening',
    'household_value',
    'idempotency_key',
    'identity_session',
    'message',
    'network_gateway',
    'network_query',
    'network_query_attempt',
    'network_query_part',
    'network_query_run',
    'network_query_timeline',
    'notification',
    'origin_pack',
    'patient',
    'patient_at_source',
    'patient_identity_key',
    'patient_resource',
    'patient_search',
    'patient_to_compare',
    'patient_to_match',
    'possible_duplicate',
    'proofed_identity',
    'query_redrive',
    'rate_window',
    'record_arrival',
    'record_change',
    'record_key',
    'record_origin',
    'record_resource',
    'record_split',
    'record_to_pack',
    'recorded_subject',
    'resource_pack',
    'retired_resource',
    'source_candidate',
    'source_collection',
    'subscription_code',
    'subscription_filter',
    'webhook_destination',
  ]),
  ...each(OF_SERVICE, [
    'inbound_event',
    'inbound_merge',
    'inbound_message',
    'inbound_number',
    'inbound_subject',
  ]),
  ...each(OF_SERVICE, ['source_signing_key', 'source_token']),
  source_budget: OF_SERVICE,
  source_change_check: OF_SERVICE,
  source_connection: { ...OF_SERVICE, exchange_app: 'S' },
  // A directory is its network's: accounts read its entries.
  ...each(OF_SERVICE, [
    'directory',
    'directory_load',
    'directory_part',
    'directory_remark',
  ]),
  trust_bundle: OF_SERVICE,
  revocation_fault: OF_SERVICE,
  directory_entry: { ...OF_SERVICE, exchange_app: 'S' },
  reconcile_pause: OF_SERVICE,
  acknowledged_finding: OF_SERVICE,
  refused_payload: OF_SERVICE,
  process_clock: OF_SERVICE,
  packing: {
    exchange_app: 'S',
    exchange_system: 'SIU',
    exchange_admin: 'SIU',
    exchange_backup: 'S',
  },
  reconcile_state: OF_SERVICE,
  ...each(
    {
      exchange_app: 'S',
      exchange_system: 'S',
      exchange_admin: 'S',
    },
    [
      'delivered_resource',
      'merged_origin',
      'merged_place',
      'packed_place',
      'wanted_cohort_schedule',
    ],
  ),
  network_connection: {
    exchange_app: 'S',
    exchange_system: 'SIUD',
    exchange_admin: 'SIUD',
    exchange_backup: 'S',
  },
  network_membership: {
    exchange_app: 'S',
    exchange_system: 'SIUD',
    exchange_admin: 'SIUD',
    exchange_backup: 'S',
  },
  network_message: {
    exchange_app: 'SID',
    exchange_system: 'SIUD',
    exchange_admin: 'SIUD',
    exchange_backup: 'S',
  },
  account: {
    exchange_app: 'S',
    exchange_system: 'S',
    exchange_admin: 'SIU',
    exchange_backup: 'S',
  },
  fhir_client: {
    exchange_system: 'S',
    exchange_admin: 'SIU',
    exchange_backup: 'S',
  },
  fhir_client_assertion: OF_SERVICE,
  retention_rule: {
    exchange_system: 'SU(removed,swept_at)',
    exchange_admin: 'SIUD',
    exchange_backup: 'S',
  },
  // Changed by operators only.
  sensitive_code: {
    exchange_app: 'S',
    exchange_system: 'S',
    exchange_admin: 'SIUD',
    exchange_backup: 'S',
    exchange_responder: 'S',
  },
  // Placed and lifted by operators only.
  legal_hold: {
    exchange_app: 'S',
    exchange_system: 'S',
    exchange_admin: 'SID',
    exchange_backup: 'S',
  },
  api_key: {
    exchange_system: 'SU(last_used_at)',
    exchange_admin: 'SIU',
    exchange_backup: 'S',
  },
  embed_token_revocation: {
    exchange_system: 'S',
    exchange_admin: 'SID',
    exchange_backup: 'S',
  },
  audit_entry: {
    exchange_app: `SI(${AUDIT_COLUMNS})`,
    exchange_system: `SI(${AUDIT_COLUMNS})U(mac,position)`,
    exchange_admin: `SI(${AUDIT_COLUMNS})U(mac,position)`,
    exchange_backup: 'S',
  },
  audit_head: {
    exchange_system: 'SIU',
    exchange_admin: 'SIU',
    exchange_backup: 'S',
  },
  kysely_migration: { exchange_backup: 'S' },
  kysely_migration_lock: { exchange_backup: 'S' },
};

function each(
  grants: TableGrants,
  tables: readonly string[],
): Record<string, TableGrants> {
  return Object.fromEntries(tables.map((table) => [table, grants]));
}
