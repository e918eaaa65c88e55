import type { Attachment, Email } from 'postal-mime';
import { bareId } from '../mail/mail-ids.ts';
import { bytesOfPart } from '../mail/part-bytes.ts';
import { type ReportFields, readReportFields } from './report-fields.ts';

/** A disposition notification (RFC 8098): what became of it at the receiver. */
export interface DispositionNotification {
  kind: 'mdn';

  /** The id of the message that it is about, without brackets. */
  about: string | undefined;

  /** The address only. */
  finalRecipient: string | undefined;

  /** `processed`, `dispatched`, `failed`, …, in lower case. */
  disposition: string | undefined;

  /** As in `processed/error`, in lower case. */
  modifiers: string[];
}

/** What a delivery status notification says of one recipient. */
export interface RecipientStatus {
  finalRecipient: string | undefined;

  /** `failed`, `delayed`, `delivered`, `relayed` or `expanded`, in lower case. */
  action: string | undefined;

  /** `5.1.1` */
  status: string | undefined;
}

/** A delivery status notification (RFC 3464): how far the mail came. */
export interface DeliveryStatusNotification {
  kind: 'dsn';
  about: string | undefined;
  recipients: RecipientStatus[];
}

export type DeliveryReport =
  | DispositionNotification
  | DeliveryStatusNotification;

/**
 * What a message reports. Its fields count, not its subject: subjects have said
 * "success" of what was not delivered.
 */
export function readReport(mail: Email): DeliveryReport | undefined {
  const disposition = partOf(mail, 'message/disposition-notification');
  if (disposition !== undefined)
    return readDisposition(mail, fieldsOf(disposition));

  const status = partOf(mail, 'message/delivery-status');
  if (status !== undefined) return readStatus(mail, fieldsOf(status));

  return undefined;
}

function readDisposition(
  mail: Email,
  groups: readonly ReportFields[],
): DispositionNotification {
  const fields = new Map(groups.toReversed().flatMap((each) => [...each]));
  const said = fields.get('disposition')?.split(';').at(-1) ?? '';
  const [disposition = '', ...modifiers] = said.toLowerCase().split(/[/,]/);

  return {
    kind: 'mdn',
    about: aboutOf(mail, fields),
    finalRecipient: addressOf(fields.get('final-recipient')),
    disposition: disposition.trim() || undefined,
    modifiers: modifiers
      .map((each) => each.trim())
      .filter((each) => each !== ''),
  };
}

function readStatus(
  mail: Email,
  [ofMessage = new Map(), ...rest]: readonly ReportFields[],
): DeliveryStatusNotification {
  // Some write the fields of their only recipient among those of the message.
  const ofRecipients = rest.length > 0 ? rest : [ofMessage];

  return {
    kind: 'dsn',
    about: aboutOf(mail, ofMessage),
    recipients: ofRecipients.map((fields) => ({
      finalRecipient: addressOf(
        fields.get('final-recipient') ?? fields.get('original-recipient'),
      ),
      action: fields.get('action')?.trim().toLowerCase() || undefined,
      status: /\d\.\d{1,3}\.\d{1,3}/.exec(fields.get('status') ?? '')?.[0],
    })),
  };
}

/**
 * The message that a report is about: as it says itself, else as it replies,
 * else by the headers that it returns.
 */
function aboutOf(mail: Email, fields: ReportFields): string | undefined {
  return (
    bareId(fields.get('original-message-id')) ??
    bareId(mail.inReplyTo) ??
    bareId(fields.get('x-original-message-id')) ??
    bareId(returnedHeaders(mail)?.get('message-id'))
  );
}

function returnedHeaders(mail: Email): ReportFields | undefined {
  const returned =
    partOf(mail, 'text/rfc822-headers') ?? partOf(mail, 'message/rfc822');

  return returned && fieldsOf(returned)[0];
}

function partOf(mail: Email, type: string): Attachment | undefined {
  return mail.attachments.find(({ mimeType }) => mimeType === type);
}

function fieldsOf(part: Attachment): ReportFields[] {
  return readReportFields(bytesOfPart(part).toString('utf8'));
}

/** `rfc822; Bob <bob@example.org>` → `bob@example.org` */
function addressOf(written: string | undefined): string | undefined {
  const value = written?.replace(/^[\w-]+\s*;/, '');
  const inBrackets = /<([^<>]*)>\s*$/.exec(value ?? '')?.[1];

  return bareId(inBrackets ?? value);
}
