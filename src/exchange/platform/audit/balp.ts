import type { AuditEvent, Coding } from 'fhir/r4.js';
import type { Interaction } from './interaction.ts';

export const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem';
export const DICOM = 'http://dicom.nema.org/resources/ontology/DCM';

export const SOURCE_ROLE: Coding = { system: DICOM, code: '110153', display: 'Source Role ID' };
export const DESTINATION_ROLE: Coding = { system: DICOM, code: '110152', display: 'Destination Role ID' };
export const REST: Coding = {
  system: `${TERMINOLOGY}/audit-event-type`,
  code: 'rest',
  display: 'RESTful Operation',
};

/** One of IHE's Basic Audit Log Patterns (BALP): what its profile fixes. */
export interface Pattern {
  /** The name of the profile: of an event about a patient, and of one that is not. */
  profile: { withPatient: string; without?: string };
  type: Coding;
  subtype: Coding;
  action: NonNullable<AuditEvent['action']>;
  /** The role of the caller, and ours. */
  client: Coding;
  server: Coding;
}

const rest = (code: string): Pick<Pattern, 'type' | 'subtype'> => ({
  type: REST,
  subtype: { system: 'http://hl7.org/fhir/restful-interaction', code },
});
const profile = (name: string): Pattern['profile'] => ({ withPatient: `Patient${name}`, without: name });

/** A caller sends data to us, or asks with parameters; when it reads, data flows the other way. */
const TO_US = { client: SOURCE_ROLE, server: DESTINATION_ROLE };
const FROM_US = { client: DESTINATION_ROLE, server: SOURCE_ROLE };

export const PATTERNS: Readonly<Record<Interaction, Pattern>> = {
  read: { profile: profile('Read'), ...rest('read'), action: 'R', ...FROM_US },
  query: { profile: profile('Query'), ...rest('search-type'), action: 'E', ...TO_US },
  create: { profile: profile('Create'), ...rest('create'), action: 'C', ...TO_US },
  update: { profile: profile('Update'), ...rest('update'), action: 'U', ...TO_US },
  delete: {
    profile: profile('Delete'),
    ...rest('delete'),
    action: 'D',
    client: { system: DICOM, code: '110150', display: 'Application' },
    server: { system: `${TERMINOLOGY}/provenance-participant-type`, code: 'custodian', display: 'Custodian' },
  },
  disclosure: {
    profile: { withPatient: 'PrivacyDisclosure.Source' },
    type: { system: DICOM, code: '110106', display: 'Export' },
    subtype: { system: `${TERMINOLOGY}/iso-21089-lifecycle`, code: 'disclose' },
    action: 'R',
    ...FROM_US,
  },
};

const BASE = 'https://profiles.ihe.net/ITI/BALP/StructureDefinition/IHE.BasicAudit.';

/** The profile that an event claims; undefined if the pattern has none for it. */
export function profileOf(pattern: Pattern, hasPatient: boolean): string | undefined {
  const name = hasPatient ? pattern.profile.withPatient : pattern.profile.without;
  return name && `${BASE}${name}`;
}
