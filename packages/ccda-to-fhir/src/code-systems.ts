import { cdaTable } from './lookup-table.ts';

type Oid = `${number}.${string}`;
/** Anything else is no canonical URI. */
type Uri = `http://${string}` | `https://${string}` | `urn:${string}`;

/** A table of canonical URIs, which is looked up by the OID of a document. */
const byOid = (
  table: Readonly<Record<Oid, Uri>>,
): Readonly<Record<string, Uri>> => cdaTable(table);

/** Canonical URIs of code systems. */
export const CODE_SYSTEM_URIS = byOid({
  '1.2.840.10008.2.16.4': 'http://dicom.nema.org/resources/ontology/DCM',
  '1.3.6.1.4.1.12009.10.2.3': 'http://unitsofmeasure.org',
  '2.16.840.1.113883.12.112': 'http://terminology.hl7.org/CodeSystem/v2-0112',
  '2.16.840.1.113883.12.227': 'http://hl7.org/fhir/sid/mvx',
  '2.16.840.1.113883.12.292': 'http://hl7.org/fhir/sid/cvx',
  '2.16.840.1.113883.12.443': 'http://terminology.hl7.org/CodeSystem/v2-0443',
  '2.16.840.1.113883.3.221.5': 'https://nahdo.org/sopt',
  '2.16.840.1.113883.3.26.1.1':
    'http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl',
  '2.16.840.1.113883.3.26.1.2': 'http://ncimeta.nci.nih.gov',
  '2.16.840.1.113883.3.26.1.5': 'http://hl7.org/fhir/ndfrt',
  '2.16.840.1.113883.4.9': 'http://fdasis.nlm.nih.gov',
  '2.16.840.1.113883.5.1':
    'http://terminology.hl7.org/CodeSystem/v3-AdministrativeGender',
  '2.16.840.1.113883.5.2':
    'http://terminology.hl7.org/CodeSystem/v3-MaritalStatus',
  '2.16.840.1.113883.5.4': 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
  '2.16.840.1.113883.5.6': 'http://terminology.hl7.org/CodeSystem/v3-ActClass',
  '2.16.840.1.113883.5.7':
    'http://terminology.hl7.org/CodeSystem/v3-ActPriority',
  '2.16.840.1.113883.5.8': 'http://terminology.hl7.org/CodeSystem/v3-ActReason',
  '2.16.840.1.113883.5.14':
    'http://terminology.hl7.org/CodeSystem/v3-ActStatus',
  '2.16.840.1.113883.5.25':
    'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
  '2.16.840.1.113883.5.60':
    'http://terminology.hl7.org/CodeSystem/v3-LanguageAbilityMode',
  '2.16.840.1.113883.5.61':
    'http://terminology.hl7.org/CodeSystem/v3-LanguageAbilityProficiency',
  '2.16.840.1.113883.5.79':
    'http://terminology.hl7.org/CodeSystem/v3-mediaType',
  '2.16.840.1.113883.5.83':
    'http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation',
  '2.16.840.1.113883.5.84':
    'http://terminology.hl7.org/CodeSystem/v3-ObservationMethod',
  '2.16.840.1.113883.5.85':
    'http://terminology.hl7.org/CodeSystem/v3-orderableDrugForm',
  '2.16.840.1.113883.5.88':
    'http://terminology.hl7.org/CodeSystem/v3-ParticipationFunction',
  '2.16.840.1.113883.5.90':
    'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
  '2.16.840.1.113883.5.110':
    'http://terminology.hl7.org/CodeSystem/v3-RoleClass',
  '2.16.840.1.113883.5.111':
    'http://terminology.hl7.org/CodeSystem/v3-RoleCode',
  '2.16.840.1.113883.5.112':
    'http://terminology.hl7.org/CodeSystem/v3-RouteOfAdministration',
  '2.16.840.1.113883.5.139':
    'http://terminology.hl7.org/CodeSystem/v3-TimingEvent',
  '2.16.840.1.113883.5.1001':
    'http://terminology.hl7.org/CodeSystem/v3-ActMood',
  '2.16.840.1.113883.5.1008':
    'http://terminology.hl7.org/CodeSystem/v3-NullFlavor',
  '2.16.840.1.113883.5.1052':
    'http://terminology.hl7.org/CodeSystem/v3-ActSite',
  '2.16.840.1.113883.5.1063':
    'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  '2.16.840.1.113883.5.1076':
    'http://terminology.hl7.org/CodeSystem/v3-ReligiousAffiliation',
  '2.16.840.1.113883.6.1': 'http://loinc.org',
  '2.16.840.1.113883.6.2': 'http://hl7.org/fhir/sid/icd-9-cm',
  '2.16.840.1.113883.6.3': 'http://hl7.org/fhir/sid/icd-10',
  '2.16.840.1.113883.6.4': 'http://www.cms.gov/Medicare/Coding/ICD10',
  '2.16.840.1.113883.6.8': 'http://unitsofmeasure.org',
  '2.16.840.1.113883.6.12': 'http://www.ama-assn.org/go/cpt',
  '2.16.840.1.113883.6.13': 'http://www.ada.org/cdt',
  '2.16.840.1.113883.6.14':
    'http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets',
  '2.16.840.1.113883.6.24': 'urn:iso:std:iso:11073:10101',
  '2.16.840.1.113883.6.42': 'http://hl7.org/fhir/sid/icd-9',
  '2.16.840.1.113883.6.43.1': 'http://terminology.hl7.org/CodeSystem/icd-o-3',
  '2.16.840.1.113883.6.50':
    'https://www.cms.gov/Medicare/Coding/place-of-service-codes/Place_of_Service_Code_Set',
  '2.16.840.1.113883.6.59': 'http://hl7.org/fhir/sid/cvx',
  '2.16.840.1.113883.6.60': 'http://hl7.org/fhir/sid/mvx',
  '2.16.840.1.113883.6.69': 'http://hl7.org/fhir/sid/ndc',
  '2.16.840.1.113883.6.86': 'http://www.nlm.nih.gov/research/umls',
  '2.16.840.1.113883.6.88': 'http://www.nlm.nih.gov/research/umls/rxnorm',
  '2.16.840.1.113883.6.90': 'http://hl7.org/fhir/sid/icd-10-cm',
  '2.16.840.1.113883.6.96': 'http://snomed.info/sct',
  '2.16.840.1.113883.6.101': 'http://nucc.org/provider-taxonomy',
  '2.16.840.1.113883.6.103': 'http://hl7.org/fhir/sid/icd-9-cm',
  '2.16.840.1.113883.6.104': 'http://hl7.org/fhir/sid/icd-9-cm',
  '2.16.840.1.113883.6.208': 'http://terminology.hl7.org/CodeSystem/nddf',
  '2.16.840.1.113883.6.254': 'http://hl7.org/fhir/sid/icf',
  '2.16.840.1.113883.6.255.1336': 'https://codesystem.x12.org/005010/1336',
  '2.16.840.1.113883.6.259':
    'https://www.cdc.gov/nhsn/cdaportal/terminology/codesystem/hsloc.html',
  '2.16.840.1.113883.6.285':
    'http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets',
  '2.16.840.1.113883.6.301.5':
    'https://www.nubc.org/CodeSystem/PatDischargeStatus',
  '2.16.840.1.113883.6.345': 'http://va.gov/terminology/medrt',
});

/**
 * Canonical URIs of code systems that a document only names, by the name in lower
 * case without spaces and signs.
 */
export const CODE_SYSTEMS_BY_NAME: Readonly<Record<string, Uri>> = cdaTable({
  cpt: 'http://www.ama-assn.org/go/cpt',
  cpt4: 'http://www.ama-assn.org/go/cpt',
  cvx: 'http://hl7.org/fhir/sid/cvx',
  hcpcs: 'http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets',
  icd10: 'http://hl7.org/fhir/sid/icd-10',
  icd10cm: 'http://hl7.org/fhir/sid/icd-10-cm',
  icd10pcs: 'http://www.cms.gov/Medicare/Coding/ICD10',
  icd9: 'http://hl7.org/fhir/sid/icd-9-cm',
  icd9cm: 'http://hl7.org/fhir/sid/icd-9-cm',
  loinc: 'http://loinc.org',
  ndc: 'http://hl7.org/fhir/sid/ndc',
  rxnorm: 'http://www.nlm.nih.gov/research/umls/rxnorm',
  snomed: 'http://snomed.info/sct',
  snomedct: 'http://snomed.info/sct',
});

/** Canonical URIs of namespaces of identifiers. */
export const IDENTIFIER_SYSTEM_URIS = byOid({
  '2.16.840.1.113883.4.1': 'http://hl7.org/fhir/sid/us-ssn',
  '2.16.840.1.113883.4.6': 'http://hl7.org/fhir/sid/us-npi',
  '2.16.840.1.113883.4.572': 'http://hl7.org/fhir/sid/us-medicare',
  '2.16.840.1.113883.4.927': 'http://hl7.org/fhir/sid/us-mbi',
});
