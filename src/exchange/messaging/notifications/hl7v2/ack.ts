import { randomBytes } from 'node:crypto';
import type { UnreadableMessageError } from '../inbound.ts';
import type { Hl7Message } from './message.ts';

/** HL7 table 0008. AA: accepted. AE: the message has an error. AR: this kind of message is not supported. */
export type AckCode = 'AA' | 'AE' | 'AR';

/** HL7 table 0357: unsupported message type, required field missing, application internal error. */
const CONDITIONS = { unsupported: '200', invalid: '101', failed: '207' } as const;

/** How much of a field of MSH is echoed; the standard allows 5 separators, 199 characters in MSH-10, and 227 in MSH-3 to MSH-6. */
const ECHOED_MAX: Readonly<Record<number, number>> = { 2: 5, 10: 199, 11: 30, 12: 60 };
const ECHOED_MAX_DEFAULT = 227;

/**
 * The acknowledgement (ACK) of a message, with the message's separators, and its control id in MSA-2. It does not reveal
 * whether a patient matched.
 */
export function acknowledge(
  { header, separators }: Hl7Message,
  code: AckCode,
  problem?: UnreadableMessageError,
  now = new Date(),
): string {
  const { field, component } = separators;
  const echo = (number: number) => header.raw(number).slice(0, ECHOED_MAX[number] ?? ECHOED_MAX_DEFAULT);
  const event = header.value(9, 2)?.slice(0, 20);
  const type = event === undefined ? 'ACK' : ['ACK', event, 'ACK'].join(component);
  const time = `${now.toISOString().replaceAll(/\D/g, '').slice(0, 14)}+0000`;
  const msh = [
    ...['MSH', echo(2), echo(5), echo(6), echo(3), echo(4), time, ''],
    ...[type, randomBytes(10).toString('hex'), echo(11) || 'P', echo(12) || '2.5.1'],
  ];
  const segments = [msh.join(field), ['MSA', code, echo(10)].join(field)];
  if (problem !== undefined) {
    const condition = CONDITIONS[problem.kind];
    const location = (problem.place ?? '').replace('-', `${component}1${component}`);
    // ERR-2 location, ERR-3 HL7 error code, ERR-4 severity, ERR-8 user message.
    segments.push(['ERR', '', location, condition, 'E', '', '', '', problem.message].join(field));
  }
  return `${segments.join('\r')}\r`;
}
