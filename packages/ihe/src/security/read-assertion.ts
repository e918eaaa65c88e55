import { DSIG, SAML, SOAP, SOAP_1_1, WSSE } from '../namespaces.ts';
import {
  attributeOf,
  childrenNamed,
  firstNamed,
  isNamed,
  type XmlElement,
  xmlText,
} from '../xml/xml-element.ts';
import { CONFIRMATION } from './saml-names.ts';

/** A code as assertions have it. */
export interface SamlCode {
  code: string;
  /** An OID. */
  codeSystem: string;
  codeSystemName?: string;
  displayName?: string;
}

/** What a SAML 2.0 assertion says; whether it may be believed is not said. */
export interface SamlAssertion {
  id: string | undefined;
  issuer: string | undefined;
  subject: string | undefined;
  /** `holder-of-key`, `sender-vouches` or `bearer`. */
  confirmations: readonly string[];
  /** As written. */
  notBefore: string | undefined;
  notOnOrAfter: string | undefined;
  /** By name (`SAML_ATTRIBUTES`): texts, and codes such as the purpose. */
  attributes: ReadonlyMap<string, readonly (string | SamlCode)[]>;
  /** Of holder-of-key: the KeyInfo that names the holder's key. */
  holder: XmlElement | undefined;
}

/**
 * The assertion of a message: the root itself, or the one directly in the
 * header's Security. Assertions within it, such as evidence, are not it.
 */
export function findAssertion(root: XmlElement): XmlElement | undefined {
  if (isNamed(root, SAML, 'Assertion')) return root;
  const header =
    firstNamed(root, SOAP, 'Header') ?? firstNamed(root, SOAP_1_1, 'Header');
  const security = firstNamed(header, WSSE, 'Security') ?? root;
  return firstNamed(security, SAML, 'Assertion');
}

export function readAssertion(assertion: XmlElement): SamlAssertion {
  const subject = firstNamed(assertion, SAML, 'Subject');
  const confirmations = childrenNamed(subject, SAML, 'SubjectConfirmation');
  const conditions = firstNamed(assertion, SAML, 'Conditions');
  const holder = confirmations.find(
    (each) => attributeOf(each, 'Method') === `${CONFIRMATION}holder-of-key`,
  );
  return {
    id: attributeOf(assertion, 'ID'),
    issuer: xmlText(firstNamed(assertion, SAML, 'Issuer')),
    subject: xmlText(firstNamed(subject, SAML, 'NameID')),
    confirmations: confirmations.map((each) =>
      (attributeOf(each, 'Method') ?? '').replace(CONFIRMATION, ''),
    ),
    notBefore: attributeOf(conditions, 'NotBefore'),
    notOnOrAfter: attributeOf(conditions, 'NotOnOrAfter'),
    attributes: readAttributes(assertion),
    holder: firstNamed(
      firstNamed(holder, SAML, 'SubjectConfirmationData'),
      DSIG,
      'KeyInfo',
    ),
  };
}

function readAttributes(
  assertion: XmlElement,
): Map<string, (string | SamlCode)[]> {
  const attributes = new Map<string, (string | SamlCode)[]>();
  const written = childrenNamed(assertion, SAML, 'AttributeStatement').flatMap(
    (statement) => childrenNamed(statement, SAML, 'Attribute'),
  );
  for (const each of written) {
    const name = attributeOf(each, 'Name') ?? '';
    const values = childrenNamed(each, SAML, 'AttributeValue').map(
      (value) => codeIn(value) ?? xmlText(value) ?? '',
    );
    attributes.set(name, [...(attributes.get(name) ?? []), ...values]);
  }
  return attributes;
}

/**
 * A code is an element in the value, called PurposeOfUse, PurposeForUse, Role
 * or otherwise, or the value itself.
 */
function codeIn(value: XmlElement): SamlCode | undefined {
  const coded = [value, ...value.children].find(
    (each) => attributeOf(each, 'code') !== undefined,
  );
  if (coded === undefined) return undefined;
  return {
    code: attributeOf(coded, 'code') ?? '',
    codeSystem: attributeOf(coded, 'codeSystem') ?? '',
    codeSystemName: attributeOf(coded, 'codeSystemName'),
    displayName: attributeOf(coded, 'displayName'),
  };
}
