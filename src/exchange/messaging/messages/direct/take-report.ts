import { type DeliveryReport, type DirectMail, whatReportSays } from '#direct';
import { MESSAGE_END_REASONS } from '../../../../contract/messages-workflow.ts';
import type { Store } from '../../../platform/database/database.ts';
import { failDelivered, type MessageLauncher } from '../launcher.ts';
import { findMessage } from '../message-store.ts';
import { recordReceipt } from './delivery-state-store.ts';
import { domainOf, messageOfMailId } from './mail-of-message.ts';
import type { Mailbox } from './mailbox-settings.ts';

export interface TakeReportDeps {
  store: Pick<Store, 'asAccount'>;
  messages: Pick<MessageLauncher, 'receiptArrived'>;
}

/**
 * Records what a report says about a message that the account has sent, and has
 * its workflow look. One that ended as delivered fails after all.
 *
 * @returns whether the report counts: it is about a message of this account,
 * from the domain of its recipient, and says how it ended
 */
export async function takeReport(
  { store, messages }: TakeReportDeps,
  accountId: string,
  { settings }: Mailbox,
  arrived: { mail: DirectMail; report: DeliveryReport; arrivedAt: Date },
): Promise<boolean> {
  const { mail, report, arrivedAt } = arrived;
  const messageId = messageOfMailId(report.about, settings.address);
  if (messageId === undefined) return false;

  const message = await store.asAccount(accountId, (tx) =>
    findMessage(tx, messageId),
  );
  if (message?.direction !== 'outbound') return false;
  const { destination } = message;
  const says = whatReportSays(report, destination);
  // Servers on the way, our provider's too, write the other kind of report.
  const isFromRecipient =
    report.kind === 'dsn' ||
    domainOf(mail.from ?? '') === domainOf(destination);
  if (says === undefined || !isFromRecipient) return false;

  await store.asAccount(accountId, (tx) =>
    recordReceipt(tx, messageId, { says, arrivedAt }),
  );
  // In a transaction of its own: whoever ends the message meanwhile reads the
  // receipts again after that (`transmission.check`).
  if (says === 'failed')
    await store.asAccount(accountId, (tx) =>
      failDelivered(tx, messageId, MESSAGE_END_REASONS.undelivered),
    );
  messages.receiptArrived(messageId);
  return true;
}
