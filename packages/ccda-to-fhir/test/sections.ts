import { convertCcda } from '../src/convert.ts';

const HEADER = `<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <id root="1.2.3"/><effectiveTime value="20240501"/><recordTarget><patientRole><id root="1.2.3" extension="7"/>
  <patient><name><given>Ann</given><family>Example</family></name><administrativeGenderCode code="F"/>
  <birthTime value="19700102"/></patient></patientRole></recordTarget>`;
export const SNOMED = 'codeSystem="2.16.840.1.113883.6.96"';
export const LOINC = 'codeSystem="2.16.840.1.113883.6.1"';
export const TEMPLATE = '2.16.840.1.113883.10.20.22.';

/** A section with these templates, separated by blanks. */
export const section = (templates: string, code: string, content: string) =>
  `<component><section>${templates
    .split(' ')
    .filter((root) => root !== '')
    .map((root) => `<templateId root="${root}"/>`)
    .join(
      '',
    )}<code code="${code}" ${LOINC}/><title>Section</title>${content}</section></component>`;

export const ccdaOf = (...sections: string[]): Buffer =>
  Buffer.from(
    `${HEADER}<component><structuredBody>${sections.join('')}</structuredBody></component></ClinicalDocument>`,
  );

/** What a document with these sections is converted to. */
export function convertedSections(...sections: string[]) {
  const conversion = convertCcda(ccdaOf(...sections), {
    unit: 'u',
    patientId: 'p',
  });
  if (conversion.kind !== 'converted')
    throw new Error(JSON.stringify(conversion));
  return {
    ...conversion,
    resources: conversion.resources as Record<string, never>[],
  };
}
