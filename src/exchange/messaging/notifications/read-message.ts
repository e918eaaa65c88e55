import type { Patient } from 'fhir/r4.js';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { readFhirBundle } from './fhir/bundle.ts';
import { parseHl7 } from './hl7v2/message.ts';
import { readHl7 } from './hl7v2/read-hl7.ts';
import type { InboundMessage } from './inbound.ts';
import { readMessageContent } from './inbound-store.ts';
import type { PersonOfMessage } from './person-of-subject.ts';

export type InboundFormat = 'hl7v2' | 'fhir';

/** Parses a stored message. Throws UnreadableMessageError. @param timeZone of the sender's times without an offset */
export function readMessage(format: InboundFormat, bytes: Buffer, timeZone: string): InboundMessage {
  return format === 'hl7v2' ? readHl7(parseHl7(bytes), timeZone) : readFhirBundle(bytes);
}

/** Reads the person of a stored message. */
export function personOfStoredMessage(blobs: BlobStore): PersonOfMessage {
  return async (tx, messageId): Promise<Patient> => {
    const { format, content } = await readMessageContent(tx, messageId);
    // A person is described by dates without a time, to which the sender's time zone makes no difference.
    return readMessage(format, await blobs.read(content.ref), 'UTC').person;
  };
}
