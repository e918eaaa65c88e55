import { randomUUID } from 'node:crypto';
import { SOAP, WSA } from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';

/** The address of WS-Addressing that means: answer on this connection. */
export const ANONYMOUS = 'http://www.w3.org/2005/08/addressing/anonymous';

/** The action of an answer that is a fault. */
export const FAULT_ACTION = 'http://www.w3.org/2005/08/addressing/soap/fault';

export interface EnvelopeParts {
  action: string;
  /** `urn:uuid:…`; every message has another one (`newMessageId`). */
  messageId: string;
  /** The address that the message is sent to; answers have none. */
  to?: string;
  /** The message that this one answers, as its sender wrote the id. */
  relatesTo?: string;
  /** Where the answer goes; left out, it comes on the same connection. */
  replyTo?: string;
  /** `wsse:Security`, and headers of other standards. */
  headers?: readonly XmlFragment[];
  body: XmlFragment;
}

export const newMessageId = (): string => `urn:uuid:${randomUUID()}`;

/** Writes a SOAP 1.2 envelope with a header of WS-Addressing. */
export function writeEnvelope(parts: EnvelopeParts): string {
  const { action, messageId, to, relatesTo, headers, body } = parts;
  const isAnswer = relatesTo !== undefined && parts.replyTo === undefined;
  const replyTo = isAnswer ? undefined : (parts.replyTo ?? ANONYMOUS);
  return xml`
    <soap:Envelope xmlns:soap="${SOAP}" xmlns:wsa="${WSA}">
      <soap:Header>
        <wsa:Action soap:mustUnderstand="true">${action}</wsa:Action>
        <wsa:MessageID>${messageId}</wsa:MessageID>
        ${replyTo && xml`<wsa:ReplyTo><wsa:Address>${replyTo}</wsa:Address></wsa:ReplyTo>`}
        ${to && xml`<wsa:To soap:mustUnderstand="true">${to}</wsa:To>`}
        ${relatesTo && xml`<wsa:RelatesTo>${relatesTo}</wsa:RelatesTo>`}
        ${headers}
      </soap:Header>
      <soap:Body>${body}</soap:Body>
    </soap:Envelope>
  `.source;
}

/** Writes an answer that says a request could not be processed. */
export function writeFault({
  code,
  subcode,
  reason,
}: {
  code: 'Sender' | 'Receiver' | 'MustUnderstand' | 'VersionMismatch';
  /** A name of WS-Security or WS-Addressing, with its namespace. */
  subcode?: { namespace: string; name: string };
  /** Without personal data. */
  reason: string;
}): XmlFragment {
  return xml`
    <soap:Fault xmlns:soap="${SOAP}">
      <soap:Code>
        <soap:Value>soap:${code}</soap:Value>
        ${
          subcode &&
          xml`
            <soap:Subcode>
              <soap:Value xmlns:sub="${subcode.namespace}">sub:${subcode.name}</soap:Value>
            </soap:Subcode>
          `
        }
      </soap:Code>
      <soap:Reason>
        <soap:Text xml:lang="en">${reason}</soap:Text>
      </soap:Reason>
    </soap:Fault>
  `;
}
