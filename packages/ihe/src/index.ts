/*
 * The language of the networks' gateways (README.md).
 */

export { IheError, type IheErrorCode } from './ihe-error.ts';
export type { XmlRemark } from './xml/decode-xml.ts';
export {
  type ReadXmlOptions,
  readXml,
  XML_LIMITS,
  type XmlLimits,
} from './xml/read-xml.ts';
export { escapeXml, XmlFragment, type XmlValue, xml } from './xml/write-xml.ts';
export {
  attributeOf,
  childrenNamed,
  descendantsNamed,
  firstNamed,
  isNamed,
  type XmlAttribute,
  type XmlElement,
  xmlText,
} from './xml/xml-element.ts';
