import type { SamlStatement } from '../../src/security/write-assertion.ts';

/** A statement with every part, and a name that needs escaping. */
export const STATEMENT: SamlStatement = {
  subject: 'Zoë "Z" O’Hara & Søn <system>',
  organization: 'Clinic',
  organizationId: '2.999.1',
  homeCommunityId: 'urn:oid:2.999.1',
  role: {
    code: '46255001',
    codeSystem: '2.16.840.1.113883.6.96',
    codeSystemName: 'SNOMED CT',
    displayName: 'Pharmacist',
  },
  purpose: { code: 'TREATMENT', codeSystem: '2.16.840.1.113883.3.18.7.1' },
  npi: '1234567893',
  resourceId: "RI1'01^^^&2.999.2&ISO",
  authorizedBy: '2.999.3',
};
