import {
  type DataConverter,
  defaultPayloadConverter,
  type Payload as PayloadOf,
} from '@temporalio/common';
import { Payload } from './proto.ts';

/**
 * Begins an encrypted text, which is not meant to be read in the Temporal UI.
 */
const SEALED = 'sealed:';

/**
 * Encrypts a text for places that Temporal stores and shows as it is, such as
 * the note of a schedule. Uses the codecs of the data converter, as for
 * payloads.
 */
export async function sealText(
  { payloadCodecs = [] }: DataConverter,
  text: string,
): Promise<string> {
  let payloads: PayloadOf[] = [defaultPayloadConverter.toPayload(text)];
  for (const codec of payloadCodecs) payloads = await codec.encode(payloads);
  return `${SEALED}${Buffer.from(Payload.encode(payloads[0] ?? {}).finish()).toString('base64')}`;
}

/**
 * Decrypts a text of `sealText`; any other text is returned as it is. Throws
 * DecryptionError without its key.
 */
export async function openText(
  { payloadCodecs = [] }: DataConverter,
  text: string,
): Promise<string> {
  if (!text.startsWith(SEALED)) return text;
  let payloads: PayloadOf[] = [
    Payload.decode(Buffer.from(text.slice(SEALED.length), 'base64')),
  ];
  for (const codec of payloadCodecs.toReversed())
    payloads = await codec.decode(payloads);
  return defaultPayloadConverter.fromPayload<string>(payloads[0] ?? {});
}
