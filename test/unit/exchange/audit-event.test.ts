import type { AuditEvent, AuditEventAgent } from 'fhir/r4.js';
import { expect, test } from 'vitest';
import type { ChainRow } from '../../../src/exchange/platform/audit/chain-store.ts';
import { toAuditEvent } from '../../../src/exchange/platform/audit/fhir-event.ts';
import { fhirIssues } from '../../support/fhir-issues.ts';

const ACCOUNT = '0190a1b2-0000-7000-8000-00000000000a';
const PATIENT = '0190a1b2-0000-7000-8000-000000000001';
const BALP =
  'https://profiles.ihe.net/ITI/BALP/StructureDefinition/IHE.BasicAudit.';

const row = (changed: Partial<ChainRow> = {}): ChainRow => ({
  id: 7,
  accountId: ACCOUNT,
  at: '2026-11-22T10:00:00.000000Z',
  actor: 'key:1',
  operation: 'getPatient',
  patientId: PATIENT,
  targetId: null,
  outcome: '200',
  remoteAddress: '192.0.2.7',
  times: 1,
  since: null,
  details: null,
  position: null,
  mac: null,
  ...changed,
});

/** What each profile of BALP fixes (its FSH source, version 1.1.4). */
const REST = 'http://terminology.hl7.org/CodeSystem/audit-event-type|rest';
const INTERACTION = 'http://hl7.org/fhir/restful-interaction|';
const DCM = 'http://dicom.nema.org/resources/ontology/DCM|';
const CUSTODIAN =
  'http://terminology.hl7.org/CodeSystem/provenance-participant-type|custodian';
const DISCLOSE =
  'http://terminology.hl7.org/CodeSystem/iso-21089-lifecycle|disclose';
interface Fixed {
  operation: string;
  profile: string;
  type: string;
  subtype: string;
  action: string;
  client: string;
  server: string;
  outcome?: string;
}
const PROFILES: Fixed[] = [
  ...[
    'getPatient',
    'getConsolidated',
    'fhirRead',
    'fhirReadBinary',
    'readConsolidatedLink',
    'getEmbedSummary',
    'readDocument',
  ].map((operation) => ({
    operation,
    profile: 'Read',
    type: REST,
    subtype: `${INTERACTION}read`,
    action: 'R',
    client: `${DCM}110152`,
    server: `${DCM}110153`,
  })),
  ...[
    'listDocuments',
    'fhirSearch',
    'fhirEverything',
    'fhirSummary',
    'matchPatient',
    'countConsolidated',
  ].map((operation) => ({
    operation,
    profile: 'Query',
    type: REST,
    subtype: `${INTERACTION}search-type`,
    action: 'E',
    client: `${DCM}110153`,
    server: `${DCM}110152`,
  })),
  {
    operation: 'createPatient',
    profile: 'Create',
    type: REST,
    subtype: `${INTERACTION}create`,
    action: 'C',
    client: `${DCM}110153`,
    server: `${DCM}110152`,
  },
  ...['updatePatient', 'setHieOptOut'].map((operation) => ({
    operation,
    profile: 'Update',
    type: REST,
    subtype: `${INTERACTION}update`,
    action: 'U',
    client: `${DCM}110153`,
    server: `${DCM}110152`,
  })),
  {
    operation: 'deletePatient',
    profile: 'Delete',
    type: REST,
    subtype: `${INTERACTION}delete`,
    action: 'D',
    client: `${DCM}110150`,
    server: CUSTODIAN,
    outcome: '204',
  },
];

const codeOf = (coding: { system?: string; code?: string } | undefined) =>
  `${coding?.system}|${coding?.code}`;
const agentOf = (event: AuditEvent, type: string): AuditEventAgent[] =>
  event.agent.filter((agent) => codeOf(agent.type?.coding?.[0]) === type);
const entitiesOf = (event: AuditEvent, type: string) =>
  (event.entity ?? []).filter((entity) => entity.type?.code === type);

function expectAgents(event: AuditEvent, client: string, server: string): void {
  for (const type of [client, server]) {
    const [agent, ...others] = agentOf(event, type);
    expect(others).toEqual([]);
    expect(agent?.who).toBeDefined();
    expect(agent?.network).toBeDefined();
  }
}

test.each(PROFILES)(
  '$operation conforms to the BALP profile for $profile',
  (fixed) => {
    const {
      operation,
      profile,
      type,
      subtype,
      action,
      client,
      server,
      outcome = '200',
    } = fixed;
    for (const patientId of [PATIENT, null]) {
      const event = toAuditEvent(row({ operation, patientId, outcome }));
      expect(fhirIssues(event)).toEqual([]);
      expect(event.meta?.profile).toEqual([
        `${BALP}${patientId === null ? '' : 'Patient'}${profile}`,
      ]);
      expect(codeOf(event.type)).toBe(type);
      expect(event.subtype?.map(codeOf)).toEqual([
        subtype,
        `urn:medical-exchange:operation|${operation}`,
      ]);
      expect([event.action, event.outcome]).toEqual([action, '0']);
      expectAgents(event, client, server);
      const [object, ...others] = entitiesOf(event, '2');
      expect(others).toEqual([]);
      if (profile === 'Query') {
        expect(object).toMatchObject({
          role: { code: '24' },
          _query: { extension: [{ valueCode: 'masked' }] },
        });
        expect(object).not.toHaveProperty('what');
      } else expect(object).toMatchObject({ role: { code: '4' }, what: {} });
      expect(entitiesOf(event, '1')).toMatchObject(
        patientId === null
          ? []
          : [
              {
                role: { code: '1' },
                what: { reference: `Patient/${PATIENT}` },
              },
            ],
      );
    }
  },
);

test("a patient's data in an export is a privacy disclosure by us, its purpose not stated", () => {
  const event = toAuditEvent(
    row({ operation: 'fhirExport', targetId: ACCOUNT, remoteAddress: null }),
  );
  expect(fhirIssues(event)).toEqual([]);
  expect(event.meta?.profile).toEqual([`${BALP}PrivacyDisclosure.Source`]);
  expect([codeOf(event.type), event.action]).toEqual([`${DCM}110106`, 'R']);
  expect(event.subtype?.map(codeOf)).toContain(DISCLOSE);
  expectAgents(event, `${DCM}110152`, `${DCM}110153`);
  expect(agentOf(event, `${DCM}110153`)[0]?.who).toEqual(event.source.observer);
  expect(event.purposeOfEvent).toEqual([{ text: 'not stated' }]);
  expect(event.entity).toMatchObject([
    { type: { code: '1' } },
    { type: { code: '2' } },
  ]);
});

test('a PATCH is said to be one', () => {
  const event = toAuditEvent(
    row({ operation: 'updateCohort', patientId: null }),
  );
  expect(event.subtype?.map(codeOf)[0]).toBe(`${INTERACTION}patch`);
});

test.each([
  { what: 'a refused request', operation: 'getPatient', outcome: '403' },
  { what: 'a revoked key', operation: 'getPatient', outcome: '401 revoked' },
  { what: 'an operator', operation: 'reportDisclosures', outcome: 'done' },
  {
    what: 'the start of a query',
    operation: 'startNetworkQuery',
    outcome: '200',
  },
])(
  '$what claims no pattern, and every subtype has a system',
  ({ operation, outcome }) => {
    const event = toAuditEvent(row({ operation, outcome }));
    expect(fhirIssues(event)).toEqual([]);
    expect(event.meta).toBeUndefined();
    expect(event.subtype?.every(({ system }) => system !== undefined)).toBe(
      true,
    );
  },
);
