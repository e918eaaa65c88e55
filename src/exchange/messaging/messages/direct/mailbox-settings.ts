import { z } from 'zod';
import { type MailServer, readCertificates, readIdentity } from '#direct';
import { transportOf } from '../../../../contract/messages.ts';
import type { KeyRing } from '../../../../lib/key-ring.ts';
import type { StoredMailbox } from './mailbox-store.ts';

const SECURITY = {
  'smtps:': 'tls',
  'smtp:': 'starttls',
  'imaps:': 'tls',
  'imap:': 'starttls',
} as const;
const PORTS = {
  'smtps:': 465,
  'smtp:': 587,
  'imaps:': 993,
  'imap:': 143,
} as const;
type Scheme = keyof typeof SECURITY;

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const addressOf = (kind: 'smtp' | 'imap') =>
  z.string().refine(
    (text) => {
      const url = URL.parse(text);

      return (
        [`${kind}s:`, `${kind}:`].includes(url?.protocol ?? '') &&
        url?.hostname !== '' &&
        url?.username === ''
      );
    },
    { error: `must be an address such as ${kind}s://mail.example.org` },
  );

export const bundleNameSchema = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/, {
  error: 'must have 1 to 40 small letters, digits and hyphens',
});

/** How an account's mailbox is reached, and what is asked of it. */
export const mailboxSettingsSchema = z.strictObject({
  /** From which the account sends; in lower case. */
  address: z
    .string()
    .trim()
    .toLowerCase()
    .refine((address) => transportOf(address) === 'direct', {
      error: 'must be a Direct address, such as records@direct.example.org',
    }),

  /**
   * `smtps:` with TLS from the first byte on; `smtp:` with STARTTLS, and
   * without TLS only on this machine.
   */
  smtp: addressOf('smtp'),
  imap: addressOf('imap'),
  folder: z.string().trim().min(1).max(200).default('INBOX'),
  readEverySeconds: z.number().int().min(2).max(3_600).default(60),

  /** Asks recipients to say that a message reached its final destination. */
  asksForDispatched: z.boolean().default(false),

  /**
   * Domains and addresses that are sent attachments as a package of documents
   * (XDM); all others get the files.
   */
  xdmTo: z
    .array(z.string().trim().toLowerCase().min(1).max(320))
    .max(1_000)
    .optional(),

  /**
   * Whether we notify senders of what we took. Not where the provider does that
   * for its mailboxes.
   */
  notifies: z.boolean().default(true),

  /** The trust bundles of an account that is its own provider. */
  bundles: z.array(bundleNameSchema).max(20).default([]),
});
export type MailboxSettings = z.output<typeof mailboxSettingsSchema>;

const certificates = z
  .string()
  .refine((pem) => isReadable(() => readCertificates(pem).length > 0), {
    error: 'must be certificates in PEM',
  });

export const mailboxCredentialsSchema = z.strictObject({
  user: z.string().min(1).optional(),
  password: z.string().min(1).optional(),

  /** PEM of the authorities of both servers; default: the public ones. */
  ca: certificates.optional(),

  /** Set when the account is its own provider, and protects its mail itself. */
  smime: z
    .strictObject({
      /** PEM: our certificate, and its way to the anchor. */
      certificate: certificates,
      /** PEM */
      privateKey: z.string(),
      /** PEM: whom we trust, both ways, besides the trust bundles. */
      anchors: certificates.optional(),
      /**
       * PEM: certificates of those to whom we send, in place of what they
       * publish.
       */
      recipients: certificates.optional(),
    })
    .refine(
      ({ certificate, privateKey }) =>
        isReadable(() => readIdentity(certificate, privateKey)),
      { error: 'the private key must be the RSA key of the certificate' },
    )
    .optional(),
});
export type MailboxCredentials = z.output<typeof mailboxCredentialsSchema>;

function isReadable(read: () => unknown): boolean {
  try {
    return read() !== false;
  } catch {
    return false;
  }
}

export function sealMailboxCredentials(
  keyRing: KeyRing,
  accountId: string,
  credentials: MailboxCredentials,
): Buffer {
  return keyRing.encrypt(
    Buffer.from(JSON.stringify(credentials)),
    purposeOf(accountId),
  );
}

/** A mailbox, ready to be used. */
export interface Mailbox {
  settings: MailboxSettings;
  smtp: MailServer;
  imap: MailServer;
  smime: MailboxCredentials['smime'];
}

/** @throws DecryptionError when the key is no longer in the key ring */
export function openMailbox(
  keyRing: KeyRing,
  { accountId, settings, credentials }: StoredMailbox,
): Mailbox {
  const opened: unknown = JSON.parse(
    keyRing.decrypt(credentials, purposeOf(accountId)).toString('utf8'),
  );
  const { smime, ...login } = mailboxCredentialsSchema.parse(opened);

  return {
    // One that was stored before a setting existed has its default.
    settings: mailboxSettingsSchema.parse(settings),
    smtp: serverOf(settings.smtp, login),
    imap: serverOf(settings.imap, login),
    smime,
  };
}

const purposeOf = (accountId: string): string => `direct-mailbox/${accountId}`;

/** Reads an address that the schema has let pass. */
export function serverOf(
  address: string,
  { user, password, ca }: Omit<MailboxCredentials, 'smime'>,
): MailServer {
  const { protocol, hostname, port } = new URL(address);
  const scheme = protocol as Scheme;
  const isOpen = SECURITY[scheme] === 'starttls' && LOOPBACK.test(hostname);

  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? PORTS[scheme] : Number(port),
    security: isOpen ? 'none' : SECURITY[scheme],
    ...(user === undefined || password === undefined
      ? {}
      : { login: { user, password } }),
    ...(ca === undefined ? {} : { ca }),
  };
}
