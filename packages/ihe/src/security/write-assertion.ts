import { randomUUID } from 'node:crypto';
import { withUrnOid } from '../identifiers.ts';
import { DSIG, HL7V3, SAML, XSI } from '../namespaces.ts';
import { canonicalXml } from '../xml/canonical-xml.ts';
import type { XmlFragment } from '../xml/write-xml.ts';
import { type Credentials, subjectName } from './credentials.ts';
import type { SamlCode } from './read-assertion.ts';
import {
  CONFIRMATION,
  NAME_FORMATS,
  NAME_ID_FORMATS,
  SAML_ATTRIBUTES,
} from './saml-names.ts';
import {
  assertionKeyInfo,
  keyValue,
  type SignatureAlgorithms,
  signXml,
} from './sign-xml.ts';

/** Who asks, on whose behalf and what for. */
export interface SamlStatement {
  /** The person or system that asks, in words. */
  subject: string;
  organization: string;
  /** An OID. */
  organizationId: string;
  /** An OID. */
  homeCommunityId: string;
  /** Most often of SNOMED CT. */
  role: SamlCode;
  /** Of the network's own code system. */
  purpose: SamlCode;
  /** Of the person or organization that asks. */
  npi?: string;
  /** The patient's id at the gateway (`id^^^&oid&ISO`), in ITI-38 and 39. */
  resourceId?: string;
  /** The OID of the organization on whose behalf we ask (Carequality). */
  authorizedBy?: string;
}

/** What gateways want differently. */
export interface SamlStyle {
  /** Left out: the subject of our certificate. */
  issuer?: SamlName;
  /** Left out: the subject of our certificate. */
  nameId?: SamlName;
  /** Left out: attributes do not say. */
  nameFormat?: keyof typeof NAME_FORMATS;
}

export interface SamlName {
  format: keyof typeof NAME_ID_FORMATS;
  value: string;
}

/** When an assertion or timestamp holds. */
interface AssertionPeriod {
  from: Date;
  until: Date;
}

export interface SignedAssertion {
  id: string;
  fragment: XmlFragment;
}

/**
 * Writes a SAML 2.0 assertion that only the holder of our key can use, and
 * signs it with that key.
 */
export function writeAssertion(
  statement: SamlStatement,
  {
    credentials,
    algorithms,
    style,
    issued,
    period,
  }: {
    credentials: Credentials;
    algorithms: SignatureAlgorithms;
    style: SamlStyle;
    issued: Date;
    period: AssertionPeriod;
  },
): SignedAssertion {
  const id = `_${randomUUID()}`;
  const ownName: SamlName = {
    format: 'x509',
    value: subjectName(credentials.certificate),
  };
  const issuer = style.issuer ?? ownName;
  const nameId = style.nameId ?? ownName;
  const now = issued.toISOString();

  const head = canonicalXml` ID="${id}" IssueInstant="${now}" Version="2.0"`;
  const issuedBy = canonicalXml`<saml2:Issuer Format="${NAME_ID_FORMATS[issuer.format]}">${issuer.value}</saml2:Issuer>`;
  const said = canonicalXml`
    <saml2:Subject>
      <saml2:NameID Format="${NAME_ID_FORMATS[nameId.format]}">${nameId.value}</saml2:NameID>
      <saml2:SubjectConfirmation Method="${CONFIRMATION}holder-of-key">
        <saml2:SubjectConfirmationData>
          <ds:KeyInfo xmlns:ds="${DSIG}">${keyValue(credentials)}</ds:KeyInfo>
        </saml2:SubjectConfirmationData>
      </saml2:SubjectConfirmation>
    </saml2:Subject>
    <saml2:Conditions NotBefore="${period.from.toISOString()}" NotOnOrAfter="${period.until.toISOString()}"></saml2:Conditions>
    <saml2:AuthnStatement AuthnInstant="${now}" SessionIndex="${id}">
      <saml2:AuthnContext>
        <saml2:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:X509</saml2:AuthnContextClassRef>
      </saml2:AuthnContext>
    </saml2:AuthnStatement>
    <saml2:AttributeStatement>${attributesOf(statement, style)}</saml2:AttributeStatement>
  `;
  const signature = signXml(
    {
      element: canonicalXml`<saml2:Assertion xmlns:saml2="${SAML}"${head}>${issuedBy}${said}</saml2:Assertion>`,
      id,
      keyInfo: assertionKeyInfo(credentials),
      isEnveloped: true,
    },
    credentials,
    algorithms,
  );
  // The prefix `xs` is used in values only, and therefore not signed. The
  // signature stands after the issuer, as SAML wants it.
  return {
    id,
    fragment: canonicalXml`<saml2:Assertion xmlns:saml2="${SAML}" xmlns:xs="http://www.w3.org/2001/XMLSchema"${head}>${issuedBy}${signature}${said}</saml2:Assertion>`,
  };
}

function attributesOf(
  statement: SamlStatement,
  { nameFormat }: SamlStyle,
): (XmlFragment | undefined)[] {
  const format =
    nameFormat && canonicalXml` NameFormat="${NAME_FORMATS[nameFormat]}"`;
  const attribute = (name: string, value: XmlFragment) =>
    canonicalXml`<saml2:Attribute Name="${name}"${format}>${value}</saml2:Attribute>`;
  const text = (name: string, value: string | undefined) =>
    value === undefined
      ? undefined
      : attribute(
          name,
          canonicalXml`<saml2:AttributeValue xmlns:xsi="${XSI}" xsi:type="xs:string">${value}</saml2:AttributeValue>`,
        );
  const code = (name: string, element: string, value: SamlCode) =>
    attribute(
      name,
      canonicalXml`<saml2:AttributeValue>${codeElement(element, value)}</saml2:AttributeValue>`,
    );

  return [
    text(SAML_ATTRIBUTES.subjectId, statement.subject),
    text(SAML_ATTRIBUTES.organization, statement.organization),
    text(SAML_ATTRIBUTES.organizationId, withUrnOid(statement.organizationId)),
    text(
      SAML_ATTRIBUTES.homeCommunityId,
      withUrnOid(statement.homeCommunityId),
    ),
    code(SAML_ATTRIBUTES.role, 'Role', statement.role),
    code(SAML_ATTRIBUTES.purpose, 'PurposeOfUse', statement.purpose),
    text(SAML_ATTRIBUTES.npi, statement.npi),
    text(SAML_ATTRIBUTES.resourceId, statement.resourceId),
    text(
      SAML_ATTRIBUTES.authorizedBy,
      statement.authorizedBy && `Organization/${statement.authorizedBy}`,
    ),
  ];
}

function codeElement(element: string, value: SamlCode): XmlFragment {
  const { code, codeSystem, codeSystemName, displayName } = value;
  const optional = [
    codeSystemName && canonicalXml` codeSystemName="${codeSystemName}"`,
    displayName && canonicalXml` displayName="${displayName}"`,
  ];
  return canonicalXml`<hl7:${element} xmlns:hl7="${HL7V3}" xmlns:xsi="${XSI}" code="${code}" codeSystem="${codeSystem}"${optional} xsi:type="hl7:CE"></hl7:${element}>`;
}
