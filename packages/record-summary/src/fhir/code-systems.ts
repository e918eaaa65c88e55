/** The canonical URLs of code systems that sources write otherwise. */
export const SYSTEM_SPELLINGS: Readonly<Record<string, string>> = {
  'http://nucc.org/cvx': 'http://hl7.org/fhir/sid/cvx',
  'urn:oid:2.16.840.1.113883.12.292': 'http://hl7.org/fhir/sid/cvx',
  'urn:oid:2.16.840.1.113883.6.1': 'http://loinc.org',
  'urn:oid:2.16.840.1.113883.6.96': 'http://snomed.info/sct',
  'urn:oid:2.16.840.1.113883.6.88':
    'http://www.nlm.nih.gov/research/umls/rxnorm',
  'urn:oid:2.16.840.1.113883.6.69': 'http://hl7.org/fhir/sid/ndc',
  'urn:oid:2.16.840.1.113883.6.90': 'http://hl7.org/fhir/sid/icd-10-cm',
  'urn:oid:2.16.840.1.113883.6.103': 'http://hl7.org/fhir/sid/icd-9-cm',
  'urn:oid:2.16.840.1.113883.6.12': 'http://www.ama-assn.org/go/cpt',
};

/**
 * Code systems in order of preference: a concept is represented by its codes in
 * the first of these; then any other.
 */
export const PREFERRED_SYSTEMS: readonly string[] = [
  'http://loinc.org',
  'http://www.nlm.nih.gov/research/umls/rxnorm',
  'http://hl7.org/fhir/sid/cvx',
  'http://snomed.info/sct',
  'http://hl7.org/fhir/sid/icd-10-cm',
  'http://www.ama-assn.org/go/cpt',
  'http://hl7.org/fhir/sid/ndc',
  'http://hl7.org/fhir/sid/icd-9-cm',
];

/**
 * Codes of a kind as such, as "drug allergy" or "problem", by code system:
 * beside the words "Penicillin" they do not say which one it is.
 */
export const CODES_OF_KINDS: Readonly<Record<string, readonly string[]>> = {
  'http://hl7.org/fhir/sid/cvx': ['999'],
  'http://hl7.org/fhir/sid/icd-10-cm': ['R69'],
  'http://hl7.org/fhir/sid/icd-9-cm': ['799.9'],
  'http://snomed.info/sct': [
    '105590001',
    '106190000',
    '235719002',
    '282291009',
    '404684003',
    '410942007',
    '414285001',
    '416098002',
    '418038007',
    '418471000',
    '419199007',
    '419511003',
    '420134006',
    '426232007',
    '55607006',
    '59037007',
    '64572001',
    '763158003',
  ],
};
