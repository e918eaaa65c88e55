/** Names of SAML attributes that the networks use. */
export const SAML_ATTRIBUTES = {
  subjectId: 'urn:oasis:names:tc:xspa:1.0:subject:subject-id',
  organization: 'urn:oasis:names:tc:xspa:1.0:subject:organization',
  organizationId: 'urn:oasis:names:tc:xspa:1.0:subject:organization-id',
  homeCommunityId: 'urn:nhin:names:saml:homeCommunityId',
  role: 'urn:oasis:names:tc:xacml:2.0:subject:role',
  purpose: 'urn:oasis:names:tc:xspa:1.0:subject:purposeofuse',
  resourceId: 'urn:oasis:names:tc:xacml:2.0:resource:resource-id',
  npi: 'urn:oasis:names:tc:xspa:2.0:subject:npi',
  /** Carequality, for requests on behalf of another: `Organization/<OID>`. */
  authorizedBy: 'QueryAuthGrantor',
} as const;

const NAME_ID = 'urn:oasis:names:tc:SAML:1.1:nameid-format';
/** How an issuer or subject is named. */
export const NAME_ID_FORMATS = {
  x509: `${NAME_ID}:X509SubjectName`,
  email: `${NAME_ID}:emailAddress`,
  unspecified: `${NAME_ID}:unspecified`,
} as const;

const ATTRIBUTE_NAME = 'urn:oasis:names:tc:SAML:2.0:attrname-format';
/** How attributes say that they are named; most gateways ask for neither. */
export const NAME_FORMATS = {
  uri: `${ATTRIBUTE_NAME}:uri`,
  basic: `${ATTRIBUTE_NAME}:basic`,
} as const;

export const CONFIRMATION = 'urn:oasis:names:tc:SAML:2.0:cm:';
