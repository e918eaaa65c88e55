import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';

/**
 * Operations that show a patient, besides the GET operations of the contract.
 */
const SHOWING = [
  'matchPatient',
  'readConsolidatedLink',
  'readConsolidatedResult',
  'readNotificationLink',
  'readDocument',
  'getEmbedSummary',
  'fhirRead',
  'fhirReadBinary',
  'fhirSearch',
  'fhirEverything',
  'fhirSummary',
  'fhirMatch',
  'fhirExport',
  'fhirNotification',
  'fhirSubscriptionEvents',
  'gatewayDiscovery',
  'gatewayDocumentQuery',
  'gatewayDocument',
  'agentFindPatient',
  'agentPatientSummary',
  'agentSearchResults',
  'agentSearchMedications',
  'agentSearchNotes',
  'agentReadNote',
];

const DISCLOSURES = sqlFile('disclosures.sql', import.meta.url);

/** One time that data about a patient left the exchange. */
export interface Disclosure {
  at: Date;
  door: Door;
  /**
   * Who received it: the caller as in the audit, an address, a destination's
   * origin, or sources.
   */
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
  | 'health link'
  | 'fhir api'
  | 'bulk export'
  | 'network gateway'
  | 'message'
  | 'webhook'
  | 'network query';

/**
 * The disclosures of a patient in a period, oldest first; at most `limit`. `to`
 * is exclusive.
 */
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
  const within = (time: string) =>
    sql`${sql.ref(time)} >= ${from} and ${sql.ref(time)} < ${to}`;
  const { rows } = await DISCLOSURES<Disclosure>({
    patientId,
    showing,
    audited: within('a.at'),
    sent: within('m.sent_at'),
    delivered: within('e.delivered_at'),
    opened: within('l.opened_at'),
    asked: within('q.started_at'),
    limit,
  }).execute(tx.db);
  return rows;
}
