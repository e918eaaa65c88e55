import { readFhirBundle } from './fhir/bundle.ts';
import { readAdt } from './hl7v2/adt.ts';
import { parseHl7 } from './hl7v2/message.ts';
import type { InboundMessage } from './inbound.ts';

export type InboundFormat = 'hl7v2' | 'fhir';

/** Parses a stored message. Throws UnreadableMessageError. @param timeZone of the sender's times without an offset */
export function readMessage(format: InboundFormat, bytes: Buffer, timeZone: string): InboundMessage {
  return format === 'hl7v2' ? readAdt(parseHl7(bytes), timeZone) : readFhirBundle(bytes);
}
