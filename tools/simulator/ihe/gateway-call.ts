import {
  type Envelope,
  mtomMessage,
  newMessageId,
  type OutgoingAttachment,
  type OutgoingMessage,
  plainMessage,
  writeEnvelope,
  writeFault,
  type XmlElement,
  type XmlFragment,
} from '#ihe';
import type { GatewayTrouble } from '../../../src/local-stack/simulator/faults.ts';
import type { SimulatedResponse } from '../response.ts';
import type { SourceCall } from '../source.ts';

/** One question to the gateway. */
export interface GatewayCall {
  call: SourceCall;
  envelope: Envelope;
  payload: XmlElement;
  trouble: GatewayTrouble | undefined;
}

/** What the gateway says, before it is put into an envelope. */
export interface GatewayReply {
  action: string;
  body: XmlFragment;
  /** Present, even if empty, the message is sent as MTOM has it. */
  attachments?: readonly OutgoingAttachment[];
}

/** A reply as a message that answers another one. */
export function replyMessage(
  { action, body, attachments }: GatewayReply,
  relatesTo: string | undefined,
): OutgoingMessage {
  const envelope = writeEnvelope({
    action,
    messageId: newMessageId(),
    relatesTo: relatesTo ?? '',
    body,
  });
  return attachments === undefined
    ? plainMessage(envelope, action)
    : mtomMessage(envelope, action, attachments);
}

/** All bytes of a message: those of the samples are few. */
export async function messageBytes({ body }: OutgoingMessage): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A reply as an HTTP response. */
export async function replyResponse(
  reply: GatewayReply,
  { messageId }: Envelope,
): Promise<SimulatedResponse> {
  const message = replyMessage(reply, messageId);
  return {
    status: 200,
    contentType: message.contentType,
    body: await messageBytes(message),
  };
}

/** A SOAP fault, with the status that SOAP 1.2 has for it. */
export function faultResponse(
  { messageId }: Pick<Envelope, 'messageId'>,
  fault: Parameters<typeof writeFault>[0],
): SimulatedResponse {
  const action = 'http://www.w3.org/2005/08/addressing/fault';
  const envelope = writeEnvelope({
    action,
    messageId: newMessageId(),
    relatesTo: messageId ?? '',
    body: writeFault(fault),
  });
  return {
    status: fault.code === 'Sender' ? 400 : 500,
    contentType: 'application/soap+xml; charset=UTF-8',
    body: envelope,
  };
}
