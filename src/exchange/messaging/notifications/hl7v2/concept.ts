import type { CodeableConcept, Coding } from 'fhir/r4.js';
import type { ComponentReader } from './message.ts';

/** HL7 table 0396 (coding systems) as URLs. */
const SYSTEMS: Readonly<Record<string, string>> = {
  LN: 'http://loinc.org',
  LOINC: 'http://loinc.org',
  SCT: 'http://snomed.info/sct',
  RXNORM: 'http://www.nlm.nih.gov/research/umls/rxnorm',
  RXN: 'http://www.nlm.nih.gov/research/umls/rxnorm',
  NDC: 'http://hl7.org/fhir/sid/ndc',
  CVX: 'http://hl7.org/fhir/sid/cvx',
  I10: 'http://hl7.org/fhir/sid/icd-10-cm',
  I10C: 'http://hl7.org/fhir/sid/icd-10-cm',
  UCUM: 'http://unitsofmeasure.org',
};

/** A system for codes of the sender's own, so that equal codes of two senders never mean the same. */
const ownSystem = (sender: string, name: string | undefined): string =>
  `urn:medical-exchange:sender:${sender}:codes:${name ?? 'L'}`;

/** A coded element (CE, CWE): the code, an alternate code and the text. Undefined when it is empty. */
export function conceptOf(read: ComponentReader | undefined, sender: string): CodeableConcept | undefined {
  if (read === undefined) return undefined;
  const coding = [1, 4].flatMap((at): Coding[] => {
    const [code, display, name] = [read(at), read(at + 1), read(at + 2)];
    if (code === undefined) return [];
    const system = SYSTEMS[name?.toUpperCase() ?? ''] ?? ownSystem(sender, name);
    return [{ system, code, ...(display === undefined ? {} : { display }) }];
  });
  const text = read(9) ?? read(2) ?? read(5);
  if (coding.length === 0 && text === undefined) return undefined;
  return { ...(coding.length > 0 ? { coding } : {}), ...(text === undefined ? {} : { text }) };
}
