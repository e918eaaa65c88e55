import { randomUUID } from 'node:crypto';
import { WSSE, WSSE_1_1, WSU } from '../namespaces.ts';
import { canonicalXml } from '../xml/canonical-xml.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import type { Credentials } from './credentials.ts';
import { SHA_1, SHA_256, signXml } from './sign-xml.ts';
import {
  type SamlStatement,
  type SamlStyle,
  writeAssertion,
} from './write-assertion.ts';

const SAML_PROFILE =
  'http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1';

/** How long a message may be under way; clocks are off by as much. */
const MINUTES = 5;

export interface SecurityOptions extends SamlStyle {
  credentials: Credentials;
  /** Signs with SHA-1, for the few gateways that know no other. */
  sha1?: boolean;
  /** Now, unless tests say otherwise. */
  now?: Date;
}

/**
 * Writes the header of WS-Security: a timestamp, an assertion of who asks, and
 * a signature of the timestamp by the assertion's key. It holds for one message
 * and five minutes: each attempt needs another one.
 */
export function writeSecurity(
  statement: SamlStatement,
  { credentials, sha1 = false, now = new Date(), ...style }: SecurityOptions,
): XmlFragment {
  const algorithms = sha1 ? SHA_1 : SHA_256;
  const until = inMinutes(now, MINUTES);
  const assertion = writeAssertion(statement, {
    credentials,
    algorithms,
    style,
    issued: now,
    // Not every gateway allows for clocks that are off.
    period: { from: inMinutes(now, -MINUTES), until },
  });
  const timestampId = `TS-${randomUUID()}`;
  const timestamp = canonicalXml`
    <wsu:Timestamp xmlns:wsu="${WSU}" wsu:Id="${timestampId}">
      <wsu:Created>${now.toISOString()}</wsu:Created>
      <wsu:Expires>${until.toISOString()}</wsu:Expires>
    </wsu:Timestamp>
  `;
  const signature = signXml(
    {
      element: timestamp,
      id: timestampId,
      keyInfo: assertionReference(assertion.id),
      isEnveloped: false,
    },
    credentials,
    algorithms,
  );
  return xml`
    <wsse:Security
      xmlns:wsse="${WSSE}"
      xmlns:wsu="${WSU}"
      soap:mustUnderstand="true">
      ${timestamp}
      ${assertion.fragment}
      ${signature}
    </wsse:Security>
  `;
}

const assertionReference = (id: string): XmlFragment =>
  canonicalXml`
    <wsse:SecurityTokenReference xmlns:wsse="${WSSE}" xmlns:wsse11="${WSSE_1_1}" wsse11:TokenType="${SAML_PROFILE}#SAMLV2.0">
      <wsse:KeyIdentifier ValueType="${SAML_PROFILE}#SAMLID">${id}</wsse:KeyIdentifier>
    </wsse:SecurityTokenReference>
  `;

const inMinutes = (from: Date, minutes: number): Date =>
  new Date(from.getTime() + minutes * 60_000);
