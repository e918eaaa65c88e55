/*
 * C-CDA documents as resources of FHIR R4, and their elements (README.md).
 */

export { type CcdaConversion, type CcdaNames, convertCcda } from './convert.ts';
export {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsIn,
  isClinicalDocument,
  openXml,
  plainText,
  readElements,
  select,
  startsAsXml,
  words,
} from './element.ts';
export type { Json } from './json.ts';
export { isUcum } from './ucum.ts';
