import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExclusiveCanonicalization, SignedXml } from 'xml-crypto';
import { type DomNode, parseDom } from '../../src/security/dom.ts';
import {
  ENVELOPED,
  EXCLUSIVE,
  SHA_1,
  SHA_256,
} from '../../src/security/sign-xml.ts';
import type { SamlStatement } from '../../src/security/write-assertion.ts';
import { writeSecurity } from '../../src/security/write-security.ts';
import { canonicalXml } from '../../src/xml/canonical-xml.ts';
import { makeNetwork } from '../support/certificates.ts';
import { STATEMENT } from '../support/statement.ts';

const { credentials } = makeNetwork('ours').members.ours;

/**
 * Each character that XML writes in a special way somewhere, and others; but
 * U+0085 and U+2028, which xml-crypto's parser reads as line breaks, as only XML
 * 1.1 has it.
 */
const HARD =
  ' \t\n\r\r\n&<>"\'&amp;&#9;]]><!-- --><?x?>é\u{1F600}\u0001\uD800\uFFFE ';

const HARD_STATEMENT: SamlStatement = {
  subject: HARD,
  organization: HARD,
  organizationId: HARD,
  homeCommunityId: HARD,
  role: {
    code: HARD,
    codeSystem: HARD,
    codeSystemName: HARD,
    displayName: HARD,
  },
  purpose: { code: HARD, codeSystem: HARD, displayName: HARD },
  npi: HARD,
  resourceId: HARD,
  authorizedBy: HARD,
};
const HARD_NAME = { format: 'unspecified', value: HARD } as const;

/** The part of a text that is there once. */
function part(text: string, pattern: RegExp): string {
  const [found, another] = text.match(new RegExp(pattern, 'gs')) ?? [];
  if (found === undefined || another !== undefined)
    throw new Error(`${pattern} is not there once`);
  return found;
}

/** What xml-crypto signs of the same, and how. */
function signedByLibrary(element: string, { signature, digest }: typeof SHA_1) {
  const isTimestamp = element.startsWith('<wsu:');
  const signer = new SignedXml({
    ...(isTimestamp ? { idMode: 'wssecurity' } : {}),
    privateKey: credentials.privateKey,
    signatureAlgorithm: signature,
    canonicalizationAlgorithm: EXCLUSIVE,
  });
  signer.addReference({
    xpath: '/*',
    transforms: isTimestamp ? [EXCLUSIVE] : [ENVELOPED, EXCLUSIVE],
    digestAlgorithm: digest,
  });
  signer.computeSignature(element, { prefix: 'ds' });
  return valuesOf(signer.getSignatureXml());
}

const valuesOf = (signature: string) =>
  ['DigestValue', 'SignatureValue'].map((name) =>
    part(signature, new RegExp(`<ds:${name}>.*</ds:${name}>`)),
  );

describe('a signature is byte for byte what xml-crypto makes', () => {
  test.each([
    ['of a plain statement', { statement: STATEMENT, style: {} }],
    [
      'of a statement with hard characters everywhere',
      {
        statement: HARD_STATEMENT,
        style: {
          issuer: HARD_NAME,
          nameId: HARD_NAME,
          nameFormat: 'uri',
        } as const,
      },
    ],
    [
      'of a statement with little in it, by SHA-1',
      {
        statement: {
          ...STATEMENT,
          npi: undefined,
          resourceId: undefined,
          authorizedBy: undefined,
          role: { code: '1', codeSystem: '2' },
        } as SamlStatement,
        style: { sha1: true },
      },
    ],
  ])('%s', (_what, { statement, style }) => {
    const { source } = writeSecurity(statement, { credentials, ...style });
    const algorithms = 'sha1' in style ? SHA_1 : SHA_256;

    const timestamp = part(source, /<wsu:Timestamp.*<\/wsu:Timestamp>/);
    const signed = part(source, /<saml2:Assertion.*<\/saml2:Assertion>/);
    const ofAssertion = part(signed, /<ds:Signature .*<\/ds:Signature>/);
    const ofTimestamp = part(
      source.replace(signed, ''),
      /<ds:Signature .*<\/ds:Signature>/,
    );
    const assertion = signed.replace(ofAssertion, '');

    expect(valuesOf(ofAssertion)).toEqual(
      signedByLibrary(assertion, algorithms),
    );
    expect(valuesOf(ofTimestamp)).toEqual(
      signedByLibrary(timestamp, algorithms),
    );
  });
});

test('canonical XML is its own canonical form, whatever its values are', () => {
  const anyText = fc
    .string({ unit: 'grapheme' })
    .filter((text) => !/[\u0085\u2028]/.test(text))
    .map((text) => HARD + text);
  fc.assert(
    fc.property(anyText, (text) => {
      const { source } = canonicalXml`
        <a:b xmlns:a="urn:a" c="${text}" d="" a:e="${text}">
          ${text}
          <f>${[text, canonicalXml`<g></g>`, 1, undefined]}</f>
        </a:b>
      `;
      const canonical = new ExclusiveCanonicalization().process(
        parseDom(source) as unknown as DomNode,
        {},
      );
      expect(canonical).toBe(source);
    }),
  );
});
