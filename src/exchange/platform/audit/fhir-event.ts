import type { AuditEvent, AuditEventEntity } from 'fhir/r4.js';
import { endpoints } from '../../../contract/endpoints.ts';
import type { ChainRow } from './chain-store.ts';

const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem';
const DICOM = 'http://dicom.nema.org/resources/ontology/DCM';

/** An entry of the audit as FHIR R4 has it; ids only, as the entry itself. */
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

/** A key or token that is known and not good any more (401) is an event of authentication, as ATNA has it. */
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

/** Create, read, update, delete or execute, as its row in the endpoint table tells; links are read. */
function actionOf(operation: string): Action {
  const table: Readonly<Record<string, { method: string }>> = endpoints;
  const method = table[operation]?.method;
  if (method !== undefined && method !== 'POST') return ACTIONS[method] ?? 'E';
  if (/^create/.test(operation)) return 'C';
  return /^(read|match)/.test(operation) ? 'R' : 'E';
}

/** 0 success, 4 refused, 8 our fault. */
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

/** How many it stands for, and what an operator has said. */
function remarksOf({ times, details }: ChainRow): AuditEventEntity[] {
  const detail = [
    ...(times > 1 ? [{ type: 'times', valueString: String(times) }] : []),
    ...(details === null ? [] : [{ type: 'details', valueString: details }]),
  ];
  return detail.length === 0 ? [] : [{ name: 'audit entry', detail }];
}

/** Where the entry stands in the account's chain, for whoever compares an export with a later one. */
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
