import { createRequire } from 'node:module';
import type { SignedXml } from 'xml-crypto';

/** A node of the tree in which `xml-crypto` verifies. */
export type DomNode = Exclude<
  Parameters<SignedXml['loadSignature']>[0],
  string
>;

/** What we need of an element of that tree. */
export interface DomElement {
  localName: string;
  namespaceURI: string | null;
  childNodes: ArrayLike<DomElement>;
  getAttribute(name: string): string | null;
  getAttributeNS(namespace: string, name: string): string | null;
  textContent: string | null;
}

interface DomParser {
  parseFromString(xml: string, type: string): { documentElement: DomElement };
}

// Its types would bring those of a browser into every file of the repository.
const { DOMParser } = createRequire(import.meta.url)('@xmldom/xmldom') as {
  DOMParser: new () => DomParser;
};

/** @param xml that is known to be well-formed: this parser forgives much */
export const parseDom = (xml: string): DomElement =>
  new DOMParser().parseFromString(xml, 'text/xml').documentElement;

export function domChildren(
  element: DomElement | undefined,
  namespace: string,
  name: string,
): DomElement[] {
  return Array.from(element?.childNodes ?? []).filter(
    (child) => child.localName === name && child.namespaceURI === namespace,
  );
}
