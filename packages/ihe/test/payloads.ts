import { readXml, type XmlElement, type XmlFragment } from '../src/index.ts';

/** The element of a message that was built, or written by hand. */
export function payloadOf(message: XmlFragment | string): XmlElement {
  return readXml(Buffer.from(String(message)));
}

/** The names of an element's children, in their order. */
export function childNames(element: XmlElement | undefined): string[] {
  return (element?.children ?? []).map(({ name }) => name);
}
