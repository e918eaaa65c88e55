import type {
  AuditEvent,
  AuditEventAgent,
  AuditEventEntity,
  CodeableConcept,
  Coding,
  Element,
  Reference,
} from 'fhir/r4.js';
import { endpoints } from '../../../contract/endpoints.ts';
import { lookupTable } from '../../../lib/lookup-table.ts';
import {
  AUDIT_PATTERNS,
  type AuditPattern,
  DICOM,
  type Interaction,
  REST_OPERATION,
  TERMINOLOGY,
} from './balp-patterns.ts';
import type { ChainRow } from './chain-store.ts';

type Action = NonNullable<AuditEvent['action']>;
const ACTIONS = {
  read: 'R',
  query: 'E',
  create: 'C',
  update: 'U',
  delete: 'D',
  disclosure: 'R',
} as const;

const BASE =
  'https://profiles.ihe.net/ITI/BALP/StructureDefinition/IHE.BasicAudit.';

/**
 * The profile that an event claims; undefined if the pattern has none for it.
 */
function profileOf(
  pattern: AuditPattern,
  hasPatient: boolean,
): string | undefined {
  const name = hasPatient
    ? pattern.profile.withPatient
    : pattern.profile.without;
  return name && `${BASE}${name}`;
}

/** Our own operations, actors and objects. */
const OURS = 'urn:medical-exchange';
const SERVICE: Reference = {
  identifier: { system: `${OURS}:service`, value: 'medical-data-exchange' },
  display: 'medical-data-exchange',
};

/**
 * Converts an audit entry to a FHIR R4 AuditEvent. Like the entry, it contains
 * ids only. A successful request conforms to the pattern of IHE BALP for what
 * it did, and claims its profile. The parameters of a search are not recorded,
 * because they may identify a person; the event says that they are masked.
 */
export function toAuditEvent(row: ChainRow): AuditEvent {
  const interaction = isSuccess(row) ? interactionOf(row) : undefined;
  const pattern = interaction && AUDIT_PATTERNS[interaction];
  const profile = pattern && profileOf(pattern, row.patientId !== null);
  return {
    resourceType: 'AuditEvent',
    id: `${row.accountId}-${row.id}`,
    ...(profile !== undefined && { meta: { profile: [profile] } }),
    ...eventKind(row, pattern),
    ...(row.since !== null && { period: { start: row.since, end: row.at } }),
    recorded: row.at,
    outcome: outcomeCode(row.outcome),
    outcomeDesc: row.outcome,
    ...(interaction === 'disclosure' && {
      purposeOfEvent: [purposeOf(row)],
    }),
    agent: agentsOf(row, pattern),
    source: {
      observer: SERVICE,
      site: row.accountId,
      type: [
        {
          system: `${TERMINOLOGY}/security-source-type`,
          code: '4',
          display: 'Application Server',
        },
      ],
    },
    entity: [
      ...patientEntity(row),
      ...(interaction === 'query'
        ? queryOf()
        : targetOf(row, pattern !== undefined)),
      ...remarksOf(row),
      ...chainOf(row),
    ],
  };
}

/** Why a disclosure was asked for, where its recipient states it. */
function purposeOf({ operation, details }: ChainRow): CodeableConcept {
  const stated: unknown =
    operation === 'gatewayDocument' && details !== null
      ? JSON.parse(details)
      : undefined;
  const purpose =
    typeof stated === 'object' && stated !== null && 'purpose' in stated
      ? String(stated.purpose)
      : undefined;
  if (purpose === undefined) return { text: 'not stated' };
  const [oid, code] = purpose.split('|');
  return { coding: [{ system: `urn:oid:${oid}`, code }] };
}

const isSuccess = ({ outcome }: ChainRow): boolean => /^2\d\d\b/.test(outcome);

const operationOf = ({ operation }: ChainRow): Coding => ({
  system: `${OURS}:operation`,
  code: operation,
});

/**
 * A revoked or expired key or token (401) becomes a user authentication event
 * (IHE ATNA).
 */
function eventKind(
  row: ChainRow,
  pattern: AuditPattern | undefined,
): Pick<AuditEvent, 'type' | 'subtype' | 'action'> {
  if (row.outcome.startsWith('401'))
    return {
      type: { system: DICOM, code: '110114', display: 'User Authentication' },
      subtype: [
        { system: DICOM, code: '110122', display: 'Login' },
        operationOf(row),
      ],
      action: 'E',
    };
  if (pattern === undefined)
    return {
      type: REST_OPERATION,
      subtype: [operationOf(row)],
      action: actionOf(row),
    };
  const action = actionOf(row);
  const isPatch = action === 'U' && methodOf(row.operation) === 'PATCH';
  const subtype = isPatch
    ? { ...pattern.subtype, code: 'patch' }
    : pattern.subtype;
  return { type: pattern.type, subtype: [subtype, operationOf(row)], action };
}

/**
 * What was done; of a refused request or a work of the service, what it would
 * have been.
 */
function actionOf(row: ChainRow): Action {
  const interaction = interactionOf(row);
  return interaction === undefined ? 'E' : ACTIONS[interaction];
}

function agentsOf(
  { actor, remoteAddress }: ChainRow,
  pattern: AuditPattern | undefined,
): AuditEventAgent[] {
  const who = { identifier: { system: `${OURS}:actor`, value: actor } };
  const address =
    remoteAddress === null
      ? undefined
      : { address: remoteAddress, type: '2' as const };
  if (pattern === undefined)
    return [{ who, requestor: true, ...(address && { network: address }) }];
  return [
    // BALP requires a network of each; signed links and exports may have none
    // that we know.
    {
      type: concept(pattern.client),
      who,
      requestor: true,
      network: address ?? absent('unknown'),
    },
    {
      type: concept(pattern.server),
      who: SERVICE,
      requestor: false,
      network: { address: 'medical-data-exchange', type: '1' },
    },
  ];
}

const concept = (coding: Coding) => ({ coding: [coding] });

const absent = (reason: 'unknown' | 'masked'): Element => ({
  extension: [
    {
      url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason',
      valueCode: reason,
    },
  ],
});

/**
 * AuditEvent outcome: 0 for success, 4 for a refused request (4xx), 8 for a
 * server error.
 */
function outcomeCode(outcome: string): NonNullable<AuditEvent['outcome']> {
  const status = Number(/^\d{3}\b/.exec(outcome)?.[0] ?? 200);
  if (status < 400) return '0';
  return status < 500 ? '4' : '8';
}

const PERSON = {
  system: `${TERMINOLOGY}/audit-entity-type`,
  code: '1',
  display: 'Person',
};
const SYSTEM_OBJECT = {
  system: `${TERMINOLOGY}/audit-entity-type`,
  code: '2',
  display: 'System Object',
};
const role = (code: string, display: string): Coding => ({
  system: `${TERMINOLOGY}/object-role`,
  code,
  display,
});

const patientEntity = ({ patientId }: ChainRow): AuditEventEntity[] =>
  patientId === null
    ? []
    : [
        {
          what: { reference: `Patient/${patientId}` },
          type: PERSON,
          role: role('1', 'Patient'),
        },
      ];

/**
 * The object of the request. Without one, the patient whose data it was, or the
 * account.
 */
function targetOf(
  { targetId, patientId, accountId }: ChainRow,
  isRequired: boolean,
): AuditEventEntity[] {
  if (targetId === null && !isRequired) return [];
  const what =
    targetId !== null
      ? { identifier: { system: `${OURS}:id`, value: targetId } }
      : patientId !== null
        ? { reference: `Patient/${patientId}` }
        : { identifier: { system: `${OURS}:account`, value: accountId } };
  return [{ what, type: SYSTEM_OBJECT, role: role('4', 'Domain Resource') }];
}

const queryOf = (): AuditEventEntity[] => [
  { type: SYSTEM_OBJECT, role: role('24', 'Query'), _query: absent('masked') },
];

/**
 * The number of refusals that the entry summarises, and an operator's
 * statement.
 */
function remarksOf({ times, details }: ChainRow): AuditEventEntity[] {
  const detail = [
    ...(times > 1 ? [{ type: 'times', valueString: String(times) }] : []),
    ...(details === null ? [] : [{ type: 'details', valueString: details }]),
  ];
  return detail.length === 0 ? [] : [{ name: 'audit entry', detail }];
}

/**
 * The entry's position and MAC in the chain, so that two exports can be
 * compared.
 */
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

const METHODS: Readonly<Record<string, { method: string }>> = endpoints;
const OF_METHOD: Readonly<Record<string, Interaction>> = lookupTable({
  GET: 'read',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
});

/**
 * Undefined for what is none of them, such as starting a query or cancelling
 * it, and for what the service did by itself.
 */
function interactionOf({
  operation,
  patientId,
}: Pick<ChainRow, 'operation' | 'patientId'>): Interaction | undefined {
  // The kick-off of an export names no patient; the entries of the patients in
  // it do.
  if (operation === 'fhirExport')
    return patientId === null ? undefined : 'disclosure';
  if (operation === 'fhirNotification') return 'disclosure';
  if (operation === 'gatewayDocument')
    return patientId === null ? undefined : 'disclosure';
  if (
    /^(?:list|match|count|fhir(?:Search|Match|Everything|Summary)$|gateway(?:Discovery|DocumentQuery)$)/.test(
      operation,
    )
  )
    return 'query';
  if (
    /^(?:read|fhir(?:Read(?:Binary)?|ExportFile|SubscriptionEvents)$|getEmbedSummary$)/.test(
      operation,
    )
  )
    return 'read';
  if (/^(?:create|gatewaySubmission$)/.test(operation)) return 'create';
  if (/^(?:update|set[A-Z])/.test(operation)) return 'update';
  const method = METHODS[operation]?.method;
  return method === undefined ? undefined : OF_METHOD[method];
}

const methodOf = (operation: string): string | undefined =>
  METHODS[operation]?.method;
