import { expect } from 'vitest';
import { ccdaOf } from '../../packages/ccda-to-fhir/test/sections.ts';
import { convertDatedCcda } from '../../src/exchange/records/conversion/ccda-conversion.ts';
import { fhirIssues } from './fhir-issues.ts';

export {
  ccdaOf,
  LOINC,
  SNOMED,
  section,
  TEMPLATE,
} from '../../packages/ccda-to-fhir/test/sections.ts';

/**
 * What a document with these sections is converted to; it must be valid FHIR.
 */
export function convertedSections(...sections: string[]) {
  const conversion = convertDatedCcda(ccdaOf(...sections), {
    unit: 'u',
    patientId: 'p',
  });
  if (conversion.kind !== 'converted')
    throw new Error(JSON.stringify(conversion));
  expect(conversion.resources.flatMap(fhirIssues)).toEqual([]);
  return {
    ...conversion,
    resources: conversion.resources as Record<string, never>[],
  };
}
