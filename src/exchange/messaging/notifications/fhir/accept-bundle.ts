import { type ReportedSubject, UnreadableMessageError } from '#hl7v2-to-fhir';
import { hugeNumberIn, IS_HUGE } from '../../../../lib/huge-numbers.ts';
import { readSourceJson } from '../../../sources/connectors/http/http-response.ts';
import type { InboundMessage } from '../inbound.ts';
import { readFhirBundle } from './bundle.ts';
import { reportedInBundle } from './reported-resources.ts';

/**
 * Reads a Bundle as one that has just arrived. A stored one is read by
 * `readFhirBundle`, so that what was accepted before stays readable. Throws
 * UnreadableMessageError.
 */
export function acceptBundle(bytes: Buffer): {
  message: InboundMessage;
  reported: readonly ReportedSubject[];
} {
  const message = readFhirBundle(bytes);
  const read = readSourceJson(bytes);
  if (!read.isRead)
    throw new UnreadableMessageError('invalid', `The body is ${read.fault}`);
  const place = hugeNumberIn(bytes.toString('latin1'), read.json);
  if (place !== undefined)
    throw new UnreadableMessageError('invalid', `${place} ${IS_HUGE}`);
  return { message, reported: reportedInBundle(bytes) };
}
