import type { Database } from '../src/exchange/platform/database/schema.ts';

type Tables = readonly (keyof Database)[];

/**
 * Room by room of the exchange, the tables of other rooms that its SQL names. A
 * test compares it with the code.
 */
export const DECLARED_TABLE_USE = {
  'delivery/bulk-export': {
    'people/cohorts': ['cohort_member'],
    'people/patients': ['patient'],
    records: ['record_resource'],
  },
  'delivery/documents': {
    records: ['document', 'patient_resource'],
  },
  'delivery/fhir-api': {
    'people/patients': ['patient'],
    records: ['record_resource'],
  },
  'delivery/subscriptions': {
    'platform/outbox': ['event', 'webhook_destination'],
  },
  'messaging/messages': {
    'access/accounts': ['account'],
    'people/facilities': ['facility'],
    records: ['document'],
  },
  'messaging/notifications': {
    'access/accounts': ['account'],
    'people/cohorts': ['cohort', 'cohort_member'],
    'people/patients': ['patient'],
    'queries/network-query': ['network_query'],
    records: [
      'document',
      'document_conversion',
      'patient_resource',
      'retired_resource',
    ],
  },
  'messaging/webhooks': {
    'platform/outbox': ['event', 'webhook_destination'],
  },
  'operations/audit': {
    'delivery/health-links': ['health_link_opening'],
    'messaging/messages': ['message'],
    'platform/audit': ['audit_entry'],
    'platform/outbox': ['event', 'webhook_destination'],
    'queries/network-query': ['network_query'],
  },
  'operations/erasure': {
    'delivery/consolidated-query': ['consolidated_query'],
    'messaging/messages': ['message'],
    'messaging/notifications': ['discharge_follow_up'],
    'people/patients': ['patient'],
    'platform/http': ['idempotency_key'],
    'platform/outbox': ['event'],
    'queries/network-query': ['network_query', 'network_query_run'],
  },
  'operations/ops': {
    'access/accounts': ['account'],
    'delivery/bulk-export': ['bulk_export'],
    'delivery/consolidated-query': ['consolidated_query'],
    'messaging/messages': ['message'],
    'messaging/notifications': ['inbound_message', 'recorded_subject'],
    'people/bulk-create': ['bulk_request'],
    'platform/audit': ['audit_entry'],
    'platform/erasure': ['erasure'],
    'platform/outbox': ['event', 'webhook_destination'],
    'platform/recovery': ['activity_start'],
    'queries/network-query': [
      'network_query',
      'network_query_attempt',
      'network_query_run',
    ],
    'queries/redrive': ['query_redrive'],
    'queries/sweep': ['bulk_sweep'],
    records: ['record_to_pack'],
  },
  'operations/retention': {
    'messaging/notifications': [
      'inbound_event',
      'inbound_message',
      'inbound_subject',
      'notification',
      'recorded_subject',
    ],
    'people/bulk-create': ['bulk_patient', 'bulk_request'],
    'people/patients': ['legal_hold'],
    'platform/erasure': ['erasure'],
    'platform/outbox': ['event'],
    'queries/network-query': ['network_query', 'network_query_timeline'],
    records: ['retired_resource'],
  },
  'people/bulk-create': {
    'people/cohorts': ['cohort_member'],
    'people/patients': ['patient', 'patient_identity_key'],
  },
  'people/cohorts': {
    'people/patients': ['patient'],
  },
  'people/facilities': {
    'people/bulk-create': ['bulk_request'],
    'people/patients': ['patient'],
  },
  'people/monitoring': {
    'access/accounts': ['account'],
    'people/cohorts': ['cohort'],
  },
  'people/possible-duplicates': {
    'people/patients': ['patient'],
  },
  'platform/audit': {
    'access/accounts': ['account'],
  },
  'queries/network-query': {
    records: ['answered_page', 'patient_resource'],
  },
  'queries/redrive': {
    'queries/network-query': [
      'network_query',
      'network_query_attempt',
      'network_query_run',
    ],
  },
  'queries/sweep': {
    'people/bulk-create': ['bulk_patient', 'bulk_request'],
    'people/patients': ['patient'],
    'queries/network-query': [
      'network_query',
      'network_query_attempt',
      'network_query_run',
      'network_query_timeline',
    ],
  },
  records: {
    'messaging/notifications': ['recorded_subject'],
    'people/patients': ['patient'],
    'queries/network-query': [
      'network_query',
      'network_query_attempt',
      'network_query_part',
      'network_query_timeline',
    ],
  },
  'sources/connections': {
    'queries/network-query': ['network_query_part'],
  },
  'sources/health': {
    'queries/network-query': ['network_query_attempt'],
  },
} satisfies Record<string, Record<string, Tables>>;
