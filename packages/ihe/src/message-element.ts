import type { XmlElement } from './xml/xml-element.ts';

/**
 * The message in a SOAP body: the body's element, or what it wraps. Some gateways
 * put the standard's message into an element of their own.
 *
 * @returns the element given if none is found within two levels
 */
export function messageElement(
  payload: XmlElement,
  isMessage: (element: XmlElement) => boolean,
): XmlElement {
  if (isMessage(payload)) return payload;

  const wrapped = payload.children.find(isMessage);

  return (
    wrapped ??
    payload.children.flatMap(({ children }) => children).find(isMessage) ??
    payload
  );
}
