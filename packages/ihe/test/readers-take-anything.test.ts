import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  readDocumentQuery,
  readFindDocumentsResponse,
  readPatientDiscovery,
  readPatientDiscoveryResponse,
  readRetrieve,
  readRetrieveResponse,
  readSubmission,
  readSubmissionResponse,
  readXml,
  type XmlElement,
} from '../src/index.ts';

const READERS = {
  'xcpd-request': readPatientDiscovery,
  'xcpd-response': readPatientDiscoveryResponse,
  'xca-query-request': readDocumentQuery,
  'xca-query-response': readFindDocumentsResponse,
  'retrieve-request': readRetrieve,
  'retrieve-response': readRetrieveResponse,
  'xdr-request': readSubmission,
  'xdr-response': readSubmissionResponse,
} as const;

const CASES = new URL('cases/', import.meta.url);

/** The message in the bytes of a case, without its envelope. */
function messageIn(bytes: Buffer): XmlElement | undefined {
  const text = bytes.toString('latin1');
  const [envelope] = text.match(/<(\w+:)?Envelope[\s\S]*Envelope>/) ?? [];
  const root = readXml(Buffer.from(envelope ?? text, 'latin1'));

  return envelope === undefined ? root : root.children.at(-1)?.children[0];
}

/** Each element below, with the element that it is in, and where. */
function* places(
  element: XmlElement,
): Generator<[XmlElement, number, XmlElement]> {
  for (const [at, child] of element.children.entries()) {
    yield [element, at, child];
    yield* places(child);
  }
}

/** The messages of a kind. */
function messagesOf(kind: string): XmlElement[] {
  const folder = new URL(`${kind}/`, CASES);

  return readdirSync(folder)
    .filter((file) => !file.endsWith('.expected.json'))
    .map((file) => messageIn(readFileSync(new URL(file, folder))))
    .filter((message) => message !== undefined);
}

describe.each(Object.entries(READERS))('the reader of %s', (kind, read) => {
  test('does not throw when any part is missing or empty', () => {
    const messages = messagesOf(kind);
    expect(messages).not.toEqual([]);

    for (const message of messages) {
      for (const [parent, at, child] of places(message)) {
        const children = parent.children;
        const empty = { ...child, attributes: [], children: [], text: '' };

        for (const changed of [
          children.toSpliced(at, 1),
          children.with(at, empty),
        ]) {
          parent.children = changed;
          expect(() => read(message)).not.toThrow();
        }

        parent.children = children;
      }
    }
  });

  test('does not throw for a message of another kind', () => {
    for (const message of Object.keys(READERS).flatMap(messagesOf)) {
      expect(() => read(message)).not.toThrow();
    }
  });
});
