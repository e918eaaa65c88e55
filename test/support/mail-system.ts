import type { DnsServer } from '#direct';
import { createDirectTrust } from '../../src/exchange/messaging/messages/direct/direct-trust.ts';
import {
  type MailboxCredentials,
  type MailboxSettings,
  mailboxSettingsSchema,
  sealMailboxCredentials,
} from '../../src/exchange/messaging/messages/direct/mailbox-settings.ts';
import { putMailbox } from '../../src/exchange/messaging/messages/direct/mailbox-store.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import type { MailSystem } from '../../tools/simulator/mail/mail-system.ts';
import { testKeyRing } from './test-keys.ts';

export const MAIL_LOGIN = { user: 'exchange', password: 'of the exchange' };

/** Gives an account a mailbox in a provider of Direct. */
export async function giveMailbox(
  store: Pick<Store, 'asSystem'>,
  accountId: string,
  { smtpPort, imapPort }: Pick<MailSystem, 'smtpPort' | 'imapPort'>,
  settings: Partial<MailboxSettings> = {},
  credentials: MailboxCredentials = MAIL_LOGIN,
): Promise<void> {
  await store.asSystem((tx) =>
    putMailbox(tx, {
      accountId,
      settings: mailboxSettingsSchema.parse({
        address: 'records@direct.ours.example',
        smtp: `smtp://127.0.0.1:${smtpPort}`,
        imap: `imap://127.0.0.1:${imapPort}`,
        ...settings,
      }),
      credentials: sealMailboxCredentials(
        testKeyRing(),
        accountId,
        credentials,
      ),
    }),
  );
}

/** The trust of an account that is its own provider; without DNS. */
export const directTrust = (
  { store }: { store: Pick<Store, 'asSystem'> },
  dnsServers: readonly DnsServer[] = [],
) =>
  createDirectTrust({
    store,
    destinations: { allowLoopback: true },
    dnsServers,
  });
