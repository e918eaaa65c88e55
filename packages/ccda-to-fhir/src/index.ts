/*
 * C-CDA documents as resources of FHIR R4, and their elements (README.md).
 */

export {
  type CcdaConversion,
  type CcdaNames,
  type CcdaVersion,
  convertCcda,
} from './convert.ts';
export {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  elementsIn,
  isClinicalDocument,
  openXml,
  ownText,
  readElements,
  startsAsXml,
  words,
} from './element.ts';
export type { FhirJson } from './json.ts';
export { isUcum } from './ucum.ts';
