import type { X509Certificate } from 'node:crypto';
import {
  comparableId,
  type Envelope,
  IheError,
  isSameId,
  SAML_ATTRIBUTES,
  type SamlAssertion,
  type SamlCode,
  verifySecurity,
  withoutUrn,
} from '#ihe';
import type { Store } from '../../platform/database/database.ts';
import { conceptOf, type NetworkMember } from './membership-settings.ts';
import { rememberMessage, type StoredMembership } from './membership-store.ts';
import { GatewayRefusal, refusalOfFailure } from './refusal.ts';

/** Another member of a network, as a verified request shows it. */
export interface Asker {
  membership: StoredMembership;
  member: NetworkMember;
  /** Its home community: an OID without `urn:oid:`. */
  community: string;
  /** As its assertion names it; at most 100 characters. */
  organization: string | undefined;
  /** Why it asks: one of the purposes that we answer. */
  purpose: SamlCode;
}

/**
 * Finds out who asks, by the certificate of the TLS connection and a verified
 * assertion.
 *
 * @throws {GatewayRefusal} for everything that is not in order
 */
export async function authenticateAsker(
  store: Pick<Store, 'asAccount'>,
  membership: StoredMembership,
  clientCertificate: X509Certificate,
  envelope: Envelope,
): Promise<Asker> {
  const { messageId } = envelope;
  if (messageId === undefined)
    throw new GatewayRefusal(
      'addressing',
      'The request must have a wsa:MessageID.',
    );
  const assertion = await verifySecurity(envelope, {
    clientCertificate,
    takesSha1: membership.settings.sha1,
    isReplay: async ({ signature, until }) =>
      !(await rememberMessage(
        store,
        membership,
        [`message ${comparableId(messageId)}`, `signature ${signature}`],
        until,
      )),
  }).catch((error: unknown) => {
    throw error instanceof IheError ? refusalOfFailure(error) : error;
  });
  const member = memberOf(membership, assertion, clientCertificate);
  return {
    membership,
    member,
    community: withoutUrn(member.homeCommunity),
    organization: textOf(assertion, SAML_ATTRIBUTES.organization)?.slice(
      0,
      100,
    ),
    purpose: answerablePurpose(membership, assertion),
  };
}

function memberOf(
  { settings }: StoredMembership,
  assertion: SamlAssertion,
  certificate: X509Certificate,
): NetworkMember {
  const stated = textOf(assertion, SAML_ATTRIBUTES.homeCommunityId);
  const member = settings.communities.find(
    ({ homeCommunity }) =>
      stated !== undefined && isSameId(homeCommunity, stated),
  );
  if (member === undefined)
    throw new GatewayRefusal(
      'authentication',
      'The home community of the assertion may not ask here, or is missing.',
    );
  const { host } = member;
  if (host !== undefined && certificate.checkHost(host) === undefined)
    throw new GatewayRefusal(
      'authentication',
      'The TLS certificate is not that of the home community of the assertion.',
    );
  return member;
}

function answerablePurpose(
  { settings }: StoredMembership,
  { attributes }: SamlAssertion,
): SamlCode {
  const answered = settings.purposes.map(conceptOf);
  const stated = attributes.get(SAML_ATTRIBUTES.purpose) ?? [];
  const purposes = stated.filter((each) => typeof each !== 'string');
  const isAnswered = ({ code, codeSystem }: SamlCode) =>
    answered.some(
      (each) => each.code === code && isSameId(each.codeSystem, codeSystem),
    );
  const [purpose] = purposes;
  if (
    purpose === undefined ||
    purposes.length < stated.length ||
    !purposes.every(isAnswered)
  )
    throw new GatewayRefusal(
      'purpose',
      'The purpose of use is not one that is answered here, or is missing.',
    );
  return purpose;
}

function textOf(
  { attributes }: SamlAssertion,
  name: string,
): string | undefined {
  const [value] = attributes.get(name) ?? [];
  return typeof value === 'string' ? value : undefined;
}
