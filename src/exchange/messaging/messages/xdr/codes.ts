import type { Coded } from '#ihe';

const LOINC = '2.16.840.1.113883.6.1';
const SNOMED_CT = '2.16.840.1.113883.6.96';

const PATIENT_DATA: Coded = {
  code: '55188-7',
  system: LOINC,
  display: 'Patient data Document',
};

/**
 * The codes that XDS demands of a submission and its documents. A message says
 * nothing of its documents but their media types, so each code is the most
 * general one of its list.
 */
export const SUBMISSION_CODES = {
  contentType: PATIENT_DATA,
  class: PATIENT_DATA,
  type: PATIENT_DATA,
  format: {
    code: 'urn:ihe:iti:xds:2017:mimeTypeSufficient',
    system: '1.3.6.1.4.1.19376.1.2.3',
    display: 'MimeType sufficient',
  },
  facility: {
    code: '43741000',
    system: SNOMED_CT,
    display: 'Site of care',
  },
  practice: {
    code: '394658006',
    system: SNOMED_CT,
    display: 'Clinical specialty',
  },
  confidentiality: {
    code: 'N',
    system: '2.16.840.1.113883.5.25',
    display: 'normal',
  },
} as const satisfies Record<string, Coded>;
