import type { Coding } from 'fhir/r4.js';

export const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem';
export const DICOM = 'http://dicom.nema.org/resources/ontology/DCM';

export const REST_OPERATION: Coding = {
  system: `${TERMINOLOGY}/audit-event-type`,
  code: 'rest',
  display: 'RESTful Operation',
};
const EXPORT: Coding = {
  system: DICOM,
  code: '110106',
  display: 'Export',
};
const SOURCE_ROLE: Coding = {
  system: DICOM,
  code: '110153',
  display: 'Source Role ID',
};
const DESTINATION_ROLE: Coding = {
  system: DICOM,
  code: '110152',
  display: 'Destination Role ID',
};
const APPLICATION: Coding = {
  system: DICOM,
  code: '110150',
  display: 'Application',
};
const CUSTODIAN: Coding = {
  system: `${TERMINOLOGY}/provenance-participant-type`,
  code: 'custodian',
  display: 'Custodian',
};

const interaction = (code: string): Coding => ({
  system: 'http://hl7.org/fhir/restful-interaction',
  code,
});

/**
 * What an audited request did, in the terms of IHE's Basic Audit Log Patterns.
 */
export type Interaction =
  | 'read'
  | 'query'
  | 'create'
  | 'update'
  | 'delete'
  | 'disclosure';

/** What the profile of an interaction fixes. */
export interface AuditPattern {
  /** The profile of an event about a patient, and of one about none. */
  profile: { withPatient: string; without?: string };
  type: Coding;
  subtype: Coding;
  /** The role of the caller. */
  client: Coding;
  /** Our role. */
  server: Coding;
}

/**
 * IHE's Basic Audit Log Patterns (BALP). A caller sends data to us, or asks with
 * parameters; when it reads, data flows the other way.
 */
export const AUDIT_PATTERNS: Readonly<Record<Interaction, AuditPattern>> = {
  read: {
    profile: { withPatient: 'PatientRead', without: 'Read' },
    type: REST_OPERATION,
    subtype: interaction('read'),
    client: DESTINATION_ROLE,
    server: SOURCE_ROLE,
  },
  query: {
    profile: { withPatient: 'PatientQuery', without: 'Query' },
    type: REST_OPERATION,
    subtype: interaction('search-type'),
    client: SOURCE_ROLE,
    server: DESTINATION_ROLE,
  },
  create: {
    profile: { withPatient: 'PatientCreate', without: 'Create' },
    type: REST_OPERATION,
    subtype: interaction('create'),
    client: SOURCE_ROLE,
    server: DESTINATION_ROLE,
  },
  update: {
    profile: { withPatient: 'PatientUpdate', without: 'Update' },
    type: REST_OPERATION,
    subtype: interaction('update'),
    client: SOURCE_ROLE,
    server: DESTINATION_ROLE,
  },
  delete: {
    profile: { withPatient: 'PatientDelete', without: 'Delete' },
    type: REST_OPERATION,
    subtype: interaction('delete'),
    client: APPLICATION,
    server: CUSTODIAN,
  },
  disclosure: {
    profile: { withPatient: 'PrivacyDisclosure.Source' },
    type: EXPORT,
    subtype: { system: `${TERMINOLOGY}/iso-21089-lifecycle`, code: 'disclose' },
    client: DESTINATION_ROLE,
    server: SOURCE_ROLE,
  },
};
