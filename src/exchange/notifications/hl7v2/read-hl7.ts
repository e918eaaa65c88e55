import { type InboundMessage, type ReportedSubject, UnreadableMessageError } from '../inbound.ts';
import { readAdt } from './adt.ts';
import type { Hl7Message } from './message.ts';
import { readOru, reportedInOru } from './oru.ts';
import { readRds, reportedInRds } from './rds.ts';

/** Reads a message of any supported type. Throws UnreadableMessageError. @param zone of the sender's times without an offset */
export function readHl7(message: Hl7Message, zone: string): InboundMessage {
  switch (typeOf(message)) {
    case 'ADT':
      return readAdt(message, zone);
    case 'ORU^R01':
      return readOru(message, zone);
    case 'RDS^O13':
      return readRds(message, zone);
    default:
      throw new UnreadableMessageError('unsupported', 'Not supported: send ADT, ORU^R01 or RDS^O13', 'MSH-9');
  }
}

/** What a message reports besides encounters, as FHIR resources. Throws UnreadableMessageError. */
export function reportedInHl7(message: Hl7Message, zone: string, sender: string): ReportedSubject[] {
  switch (typeOf(message)) {
    case 'ORU^R01':
      return reportedInOru(message, zone, sender);
    case 'RDS^O13':
      return reportedInRds(message, zone, sender);
    default:
      return [];
  }
}

function typeOf({ header }: Hl7Message): string {
  const [code = '', event = ''] = [header.value(9, 1), header.value(9, 2)];
  return code === 'ADT' ? code : `${code}^${event}`;
}
