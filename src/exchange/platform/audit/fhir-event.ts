import type { AuditEvent, AuditEventEntity } from 'fhir/r4.js';
import { endpoints } from '../../../contract/endpoints.ts';
import type { ChainRow } from './chain-store.ts';

const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem';
const DICOM = 'http://dicom.nema.org/resources/ontology/DCM';

/** Converts an audit entry to a FHIR R4 AuditEvent. Like the entry, it contains ids only. */
export function toAuditEvent(row: ChainRow): AuditEvent {
  return {
    resourceType: 'AuditEvent',
    id: `${row.accountId}-${row.id}`,
    ...kindOf(row),
    ...(row.since !== null && { period: { start: row.since, end: row.at } }),
    recorded: row.at,
    outcome: outcomeOf(row.outcome),
    outcomeDesc: row.outcome,
    agent: [
      {
        who: { identifier: { value: row.actor } },
        requestor: true,
        ...(row.remoteAddress !== null && { network: { address: row.remoteAddress, type: '2' as const } }),
      },
    ],
    source: {
      observer: { display: 'medical-data-exchange' },
      site: row.accountId,
    },
    entity: [...patientOf(row), ...targetOf(row), ...remarksOf(row), ...chainOf(row)],
  };
}

/** A revoked or expired key or token (401) becomes a user authentication event (IHE ATNA). */
const kindOf = ({ operation, outcome }: ChainRow): Pick<AuditEvent, 'type' | 'subtype' | 'action'> =>
  outcome.startsWith('401')
    ? {
        type: { system: DICOM, code: '110114', display: 'User Authentication' },
        subtype: [{ system: DICOM, code: '110122', display: 'Login' }, { code: operation }],
        action: 'E',
      }
    : {
        type: { system: `${TERMINOLOGY}/audit-event-type`, code: 'rest', display: 'RESTful Operation' },
        subtype: [{ code: operation }],
        action: actionOf(operation),
      };

type Action = NonNullable<AuditEvent['action']>;
const ACTIONS: Readonly<Record<string, Action>> = { GET: 'R', PUT: 'U', PATCH: 'U', DELETE: 'D' };

/** The AuditEvent action (create, read, update, delete or execute) of an operation; reading a link is a read. */
function actionOf(operation: string): Action {
  const table: Readonly<Record<string, { method: string }>> = endpoints;
  const method = table[operation]?.method;
  if (method !== undefined && method !== 'POST') return ACTIONS[method] ?? 'E';
  if (/^create/.test(operation)) return 'C';
  return /^(read|match|fhir(Read|Search|Everything|Match|ExportFile))/.test(operation) ? 'R' : 'E';
}

/** AuditEvent outcome: 0 for success, 4 for a refused request (4xx), 8 for a server error. */
function outcomeOf(outcome: string): NonNullable<AuditEvent['outcome']> {
  const status = Number(/^\d{3}\b/.exec(outcome)?.[0] ?? 200);
  if (status < 400) return '0';
  return status < 500 ? '4' : '8';
}

const patientOf = ({ patientId }: ChainRow): AuditEventEntity[] =>
  patientId === null
    ? []
    : [
        {
          what: { reference: `Patient/${patientId}` },
          type: { system: `${TERMINOLOGY}/audit-entity-type`, code: '1', display: 'Person' },
          role: { system: `${TERMINOLOGY}/object-role`, code: '1', display: 'Patient' },
        },
      ];

const targetOf = ({ targetId }: ChainRow): AuditEventEntity[] =>
  targetId === null
    ? []
    : [
        {
          what: { identifier: { value: targetId } },
          type: { system: `${TERMINOLOGY}/audit-entity-type`, code: '2', display: 'System Object' },
        },
      ];

/** The number of refusals that the entry summarises, and an operator's statement. */
function remarksOf({ times, details }: ChainRow): AuditEventEntity[] {
  const detail = [
    ...(times > 1 ? [{ type: 'times', valueString: String(times) }] : []),
    ...(details === null ? [] : [{ type: 'details', valueString: details }]),
  ];
  return detail.length === 0 ? [] : [{ name: 'audit entry', detail }];
}

/** The entry's position and MAC in the chain, so that two exports can be compared. */
const chainOf = ({ position, mac }: ChainRow): AuditEventEntity[] =>
  position === null || mac === null
    ? []
    : [
        {
          name: 'audit chain',
          detail: [
            { type: 'position', valueString: String(position) },
            { type: 'mac', valueString: mac.toString('hex') },
          ],
        },
      ];
