import {
  IheError,
  mtomMessage,
  type OutgoingAttachment,
  plainMessage,
  readCredentials,
  type SamlCode,
  type SecurityOptions,
  withoutUrn,
  writeEnvelope,
  writeSecurity,
  type XmlFragment,
} from '#ihe';
import type { ResolvedSourceConfig } from '../source-config.ts';
import type { IheSettings, SamlAuth } from './ihe-settings.ts';

/** A message to write, before it is signed. */
export interface MessageToSign {
  url: string;
  action: string;
  messageId: string;
  replyTo?: string;
  body: XmlFragment;
  isMtom?: boolean;
  attachments?: readonly OutgoingAttachment[];
  headers?: readonly XmlFragment[];
  /** The patient that it is about, as a CX. */
  resourceId?: string;
}

export interface MessageSigner {
  /** Signs anew with each call: assertions and times are good for minutes. */
  write(
    message: MessageToSign,
  ): Promise<{ contentType: string; bytes: Buffer }>;
}

/**
 * Writes messages with what our login says of us. The key of our client
 * certificate signs them.
 * @throws TypeError when certificate and key cannot be used to sign
 */
export function createMessageSigner(
  config: ResolvedSourceConfig,
  settings: IheSettings,
  now: () => number,
): MessageSigner {
  const { auth } = config;
  const headersFor =
    auth.kind === 'saml' ? securityOf(config, settings, auth, now) : () => [];
  return {
    async write({ url, isMtom, attachments, resourceId, ...parts }) {
      const envelope = writeEnvelope({
        ...parts,
        to: url,
        headers: [...headersFor(resourceId), ...(parts.headers ?? [])],
      });
      const message =
        isMtom === true
          ? mtomMessage(envelope, parts.action, attachments)
          : plainMessage(envelope, parts.action);
      const chunks: Uint8Array[] = [];
      for await (const chunk of message.body) chunks.push(chunk);
      return {
        contentType: message.contentType,
        bytes: Buffer.concat(chunks),
      };
    },
  };
}

function securityOf(
  { source, tls }: ResolvedSourceConfig,
  settings: IheSettings,
  auth: SamlAuth,
  now: () => number,
): (resourceId: string | undefined) => XmlFragment[] {
  const style: SecurityOptions = {
    credentials: credentialsOf(source, tls.cert ?? '', tls.key ?? ''),
    sha1: settings.sha1,
    ...(settings.nameId === 'email' && auth.samlEmail !== undefined
      ? { nameId: { format: 'email', value: auth.samlEmail } }
      : {}),
    ...(settings.attributeNames === 'none'
      ? {}
      : { nameFormat: settings.attributeNames }),
  };
  const statement = {
    subject: auth.samlSubject,
    organization: auth.organizationName,
    organizationId: withoutUrn(auth.organizationId),
    homeCommunityId: withoutUrn(settings.ownHomeCommunity),
    role: codeOf(auth.samlRole),
    purpose: codeOf(auth.samlPurpose),
    ...(auth.npi === undefined ? {} : { npi: auth.npi }),
  };
  return (resourceId) => [
    writeSecurity(
      { ...statement, ...(resourceId === undefined ? {} : { resourceId }) },
      { ...style, now: new Date(now()) },
    ),
  ];
}

function credentialsOf(
  source: string,
  certificate: string,
  privateKey: string,
) {
  try {
    return readCredentials({ certificate, privateKey });
  } catch (error) {
    if (!(error instanceof IheError)) throw error;
    throw new TypeError(
      `the client certificate of ${source} cannot sign: ${error.message}`,
    );
  }
}

/** `system|code|words`, which the settings' schema has checked. */
function codeOf(text: string): SamlCode {
  const [codeSystem = '', code = '', displayName] = text.split('|');
  return {
    codeSystem,
    code,
    ...(displayName ? { displayName } : {}),
  };
}
