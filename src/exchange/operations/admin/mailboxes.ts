import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import {
  type MailboxCredentials,
  mailboxCredentialsSchema,
  mailboxSettingsSchema,
  sealMailboxCredentials,
} from '../../messaging/messages/direct/mailbox-settings.ts';
import {
  deleteMailbox,
  findMailbox,
  listMailboxes,
  putMailbox,
  type StoredMailbox,
} from '../../messaging/messages/direct/mailbox-store.ts';
import { endReading } from '../../messaging/messages/direct/reading-schedule.ts';
import { namesWithoutAnchors } from '../../messaging/messages/direct/trust-bundles/bundle-store.ts';
import type { SystemTx } from '../../platform/database/database.ts';
import { auditAdmin, ofAccount } from './accounts.ts';
import { type AdminCommand, AdminError, shortTime } from './command.ts';

interface MailboxOptions {
  account: string;
  address: string;
  smtp: string;
  imap: string;
  folder?: string;
  readEverySeconds?: number;
  asksForDispatched?: boolean;
  xdmTo?: string;
  notifies?: boolean;
  user?: string;
  /** All others are files. */
  passwordFile?: string;
  ca?: string;
  certificate?: string;
  privateKey?: string;
  anchors?: string;
  recipients?: string;
  bundles?: string[];
}

/**
 * `direct connect`: gives the account a mailbox, or replaces the one it has. A
 * schedule that reads it follows within a minute (`reconcile`).
 */
export const connectMailboxCommand: AdminCommand<
  [MailboxOptions],
  'store' | 'openKeyRing'
> = async ({ store, openKeyRing }, options) => {
  const { account: accountId } = options;
  const settings = checked(mailboxSettingsSchema, {
    address: options.address,
    smtp: options.smtp,
    imap: options.imap,
    folder: options.folder,
    readEverySeconds: options.readEverySeconds,
    asksForDispatched: options.asksForDispatched,
    xdmTo: options.xdmTo?.split(','),
    notifies: options.notifies,
    bundles: options.bundles,
  });
  const credentials = checked(
    mailboxCredentialsSchema,
    await credentialsIn(options),
  );
  const sealed = sealMailboxCredentials(
    await openKeyRing(),
    accountId,
    credentials,
  );
  await ofAccount(store, accountId, async (tx) => {
    await checkBundles(tx, settings.bundles);
    await putMailbox(tx, { accountId, settings, credentials: sealed });
    await auditAdmin(tx, accountId, 'connectMailbox', accountId);
  });
  return {
    document: { account: accountId, settings },
    lines: [
      `The account sends Direct messages from ${settings.address}, and its mailbox is read every ${settings.readEverySeconds} seconds.`,
      `Name the addresses at which it receives: npm run admin -- accounts set ${accountId} --direct-addresses <addresses>`,
      `Follow the reading with: npm run admin -- direct list`,
    ],
  };
};

/** A mailbox that was read before its anchors are known would trust nobody. */
async function checkBundles(
  tx: SystemTx,
  bundles: readonly string[],
): Promise<void> {
  const missing = await namesWithoutAnchors(tx, bundles);
  if (missing.length > 0)
    throw new AdminError(
      `No anchors are known of the trust bundle ${missing.join(', ')}; see: npm run admin -- bundles list`,
    );
}

/** `direct list`: how each mailbox was read last. */
export const listMailboxesCommand: AdminCommand = async ({ store }) => {
  const mailboxes = await store.asSystem(listMailboxes);
  return {
    document: { mailboxes: mailboxes.map(shown) },
    table: {
      head: ['account', 'address', 'reads', 'read through', 'fault'],
      rows: mailboxes.map(({ accountId, settings, readThrough, fault }) => [
        accountId,
        settings.address,
        settings.imap,
        shortTime(readThrough),
        fault ?? '–',
      ]),
    },
  };
};

/** `direct disconnect`: what was received stays. */
export const disconnectMailboxCommand: AdminCommand<
  [{ account: string }],
  'store' | 'openTemporal'
> = async ({ store, openTemporal }, { account: accountId }) => {
  await ofAccount(store, accountId, async (tx) => {
    if ((await findMailbox(tx, accountId)) === undefined)
      throw new AdminError(
        'The account has no mailbox; list them with: npm run admin -- direct list',
      );
    await deleteMailbox(tx, accountId);
    await auditAdmin(tx, accountId, 'disconnectMailbox', accountId);
  });
  const isEnded = await endScheduleOf(openTemporal, accountId);
  return {
    document: { account: accountId },
    lines: [
      'The account sends and receives no Direct messages any more.',
      ...(isEnded
        ? []
        : [
            'Temporal does not answer: the schedule that read the mailbox ends with its next run.',
          ]),
    ],
  };
};

async function endScheduleOf(
  openTemporal: () => Promise<
    Parameters<typeof endReading>[0] & {
      connection: { close(): Promise<void> };
    }
  >,
  accountId: string,
): Promise<boolean> {
  const client = await openTemporal();
  try {
    await endReading(client, accountId);
    return true;
  } catch {
    return false;
  } finally {
    await client.connection.close();
  }
}

async function credentialsIn(
  options: MailboxOptions,
): Promise<MailboxCredentials> {
  const { certificate, privateKey, anchors, recipients, bundles } = options;
  const trusted = anchors ?? bundles;
  const needed = [certificate, privateKey, trusted].filter(Boolean);
  const isOwnProvider = needed.length > 0 || recipients !== undefined;
  if (isOwnProvider && needed.length < 3)
    throw new AdminError(
      '--certificate, --private-key and --anchors or --bundles belong together: an account that is its own provider needs them',
    );
  return {
    user: options.user,
    password: await contentOf('--password-file', options.passwordFile),
    ca: await contentOf('--ca', options.ca),
    smime: !isOwnProvider
      ? undefined
      : {
          certificate: await neededFile('--certificate', certificate),
          privateKey: await neededFile('--private-key', privateKey),
          anchors: await contentOf('--anchors', anchors),
          recipients: await contentOf('--recipients', recipients),
        },
  };
}

async function contentOf(
  option: string,
  path: string | undefined,
): Promise<string | undefined> {
  return path === undefined ? undefined : neededFile(option, path);
}

async function neededFile(
  option: string,
  path: string | undefined,
): Promise<string> {
  const content = await readFile(path ?? '', 'utf8').catch(() => '');
  if (content.trim() !== '') return content.trim();
  throw new AdminError(`${option}: the file cannot be read, or is empty`);
}

/** Never repeats a value, because it may be a secret. */
function checked<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );
  throw new AdminError(`The mailbox is not valid:\n  ${problems.join('\n  ')}`);
}

const shown = ({
  credentials: _,
  uidValidity: __,
  lastUid: ___,
  ...mailbox
}: StoredMailbox) => mailbox;
