import { hl7Table } from './lookup-table.ts';

/** HL7 table 0396 (coding systems) as URLs. */
const SYSTEMS: Readonly<Record<string, string>> = hl7Table({
  LN: 'http://loinc.org',
  LOINC: 'http://loinc.org',
  SCT: 'http://snomed.info/sct',
  RXNORM: 'http://www.nlm.nih.gov/research/umls/rxnorm',
  RXN: 'http://www.nlm.nih.gov/research/umls/rxnorm',
  NDC: 'http://hl7.org/fhir/sid/ndc',
  CVX: 'http://hl7.org/fhir/sid/cvx',
  I10: 'http://hl7.org/fhir/sid/icd-10-cm',
  I10C: 'http://hl7.org/fhir/sid/icd-10-cm',
  I9C: 'http://hl7.org/fhir/sid/icd-9-cm',
  I10P: 'http://www.cms.gov/Medicare/Coding/ICD10',
  C4: 'http://www.ama-assn.org/go/cpt',
  UCUM: 'http://unitsofmeasure.org',
});

/** The URL of a coding system (CE-3, CWE-3); undefined for a sender's own. */
export const codingSystemUrl = (name: string | undefined): string | undefined =>
  SYSTEMS[name?.toUpperCase() ?? ''];
