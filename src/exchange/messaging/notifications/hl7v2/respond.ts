import { randomBytes } from 'node:crypto';
import {
  acceptHl7,
  type Hl7Message,
  parseHl7,
  UnreadableMessageError,
  withoutFrame,
} from '#hl7v2-to-fhir';
import type { Logger } from '../../../../lib/logger.ts';
import type { Intake } from '../intake.ts';
import type { NotificationSender } from '../senders.ts';

export interface ParsedMessage {
  bytes: Buffer;
  parsed: Hl7Message;
}

/**
 * The messages of a body or frame. Throws UnreadableMessageError if one cannot
 * be acknowledged.
 */
export const parseAll = (bytes: Buffer): ParsedMessage[] =>
  messagesIn(bytes).map((message) => ({
    bytes: message,
    parsed: parseHl7(message),
  }));

/**
 * Takes a message in and returns its acknowledgement: AA once it is committed,
 * AE or AR if it is refused. Rejects if it could not be stored.
 */
export async function respondToHl7(
  { intake, logger }: { intake: Intake; logger: Pick<Logger, 'info'> },
  sender: NotificationSender,
  { bytes, parsed }: ParsedMessage,
): Promise<string> {
  try {
    const { message } = acceptHl7(parsed, sender.timeZone);
    await intake.accept(sender, 'hl7v2', bytes, message);
    return acknowledge(parsed, 'AA');
  } catch (error) {
    if (!(error instanceof UnreadableMessageError)) throw error;
    logger.info(
      { sender: sender.name, kind: error.kind, place: error.place },
      'notification refused',
    );
    return acknowledge(
      parsed,
      error.kind === 'unsupported' ? 'AR' : 'AE',
      error,
    );
  }
}

/**
 * HL7 table 0008. AA: accepted. AE: the message has an error. AR: this kind of
 * message is not supported.
 */
export type AckCode = 'AA' | 'AE' | 'AR';

/**
 * HL7 table 0357: unsupported message type, required field missing, application
 * internal error.
 */
const CONDITIONS = {
  unsupported: '200',
  invalid: '101',
  failed: '207',
} as const;

/**
 * How much of a field of MSH is echoed; the standard allows 5 separators, 199
 * characters in MSH-10, and 227 in MSH-3 to MSH-6.
 */
const ECHOED_MAX: Readonly<Record<number, number>> = {
  2: 5,
  10: 199,
  11: 30,
  12: 60,
};
const ECHOED_MAX_DEFAULT = 227;

/**
 * The acknowledgement (ACK) of a message, with the message's separators, and
 * its control id in MSA-2. It does not reveal whether a patient matched.
 */
export function acknowledge(
  { header, separators }: Hl7Message,
  code: AckCode,
  problem?: UnreadableMessageError,
  now = new Date(),
): string {
  const { field, component } = separators;
  const echo = (number: number) =>
    header.raw(number).slice(0, ECHOED_MAX[number] ?? ECHOED_MAX_DEFAULT);
  const event = header.value(9, 2)?.slice(0, 20);
  const type =
    event === undefined ? 'ACK' : ['ACK', event, 'ACK'].join(component);
  const time = `${now.toISOString().replaceAll(/\D/g, '').slice(0, 14)}+0000`;
  const msh = [
    'MSH',
    echo(2),
    echo(5),
    echo(6),
    echo(3),
    echo(4),
    time,
    '',
    type,
    randomBytes(10).toString('hex'),
    echo(11) || 'P',
    echo(12) || '2.5.1',
  ];
  const segments = [msh.join(field), ['MSA', code, echo(10)].join(field)];
  if (problem !== undefined) {
    const condition = CONDITIONS[problem.kind];
    const location = (problem.place ?? '').replace(
      '-',
      `${component}1${component}`,
    );
    // ERR-2 location, ERR-3 HL7 error code, ERR-4 severity, ERR-8 user message.
    segments.push(
      ['ERR', '', location, condition, 'E', '', '', '', problem.message].join(
        field,
      ),
    );
  }
  return `${segments.join('\r')}\r`;
}

/**
 * The messages of a body or frame. A batch (FHS, BHS, any number of messages,
 * BTS, FTS) is taken apart, and so are messages that follow each other without
 * one. Segments begin with the same bytes in every supported character set.
 */
export function messagesIn(bytes: Buffer): Buffer[] {
  const framed = withoutFrame(bytes);
  const text = framed.toString('latin1');
  const starts = [...text.matchAll(/(?<=^|[\r\n])MSH(?=[^\w\s])/g)].map(
    ({ index }) => index,
  );
  const isBatch = /^(?:FHS|BHS)[^\w\s]/.test(text);
  if (starts.length === 0 || (starts.length === 1 && !isBatch)) return [bytes];
  return starts.map((start, nth) => {
    const message = text.slice(start, starts[nth + 1]);
    const trailer = message.search(
      /[\r\n]+(?:BTS|FTS|BHS)(?:[^\w\s]|[\r\n]|$)/,
    );
    return framed.subarray(
      start,
      start + (trailer < 0 ? message.length : trailer),
    );
  });
}

/**
 * The answer to a batch is a batch of acknowledgements, in the order of its
 * messages.
 */
export const batchOf = (acknowledgements: readonly string[]): string =>
  acknowledgements.length === 1
    ? acknowledgements.join('')
    : `BHS|^~\\&\r${acknowledgements.join('')}BTS|${acknowledgements.length}\r`;
