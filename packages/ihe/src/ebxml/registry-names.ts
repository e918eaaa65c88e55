/*
 * The names that ebXML and IHE gave the parts of metadata (ITI TF-3 4.2.5).
 */

/** Schemes of identifiers. */
export const IDENTIFIER_SCHEMES = {
  documentUniqueId: 'urn:uuid:2e82c1f6-a085-4c72-9da3-8640a32e42ab',
  documentPatientId: 'urn:uuid:58a6f841-87b3-4a3e-92fd-a8ffeff98427',
  submissionUniqueId: 'urn:uuid:96fdda7c-d067-4183-912e-bf5ee74998a8',
  submissionSourceId: 'urn:uuid:554ac39e-e3fe-47fe-b233-965d2a147832',
  submissionPatientId: 'urn:uuid:6b5aea1a-874d-4603-a4bc-96a0a7b38446',
} as const;

/** Schemes of classifications. */
export const CLASSIFICATION_SCHEMES = {
  author: 'urn:uuid:93606bcf-9494-43ec-9b4e-a7748d1a838d',
  class: 'urn:uuid:41a5887f-8865-4c09-adf7-e362475b143a',
  type: 'urn:uuid:f0306f51-975f-434e-a61c-c59651d33983',
  format: 'urn:uuid:a09d5840-386c-46f2-b5ad-9c3699a4309d',
  confidentiality: 'urn:uuid:f4f85eac-e6cb-4883-b524-f2705394840f',
  facilityType: 'urn:uuid:f33fb8ac-18af-42cc-ae0e-ed0b0bdb91e1',
  practiceSetting: 'urn:uuid:cccf5598-8b07-4b77-a05e-ae952c785ead',
  event: 'urn:uuid:2c6b8cb7-8b2a-4051-b291-b1ae6a575ef4',
  submissionAuthor: 'urn:uuid:a7058bb9-b4e4-4307-ba5b-e3f0ab85e12d',
  submissionContentType: 'urn:uuid:aa543740-bdda-424e-8c96-df4873be8500',
} as const;

/** What kind of package a RegistryPackage is. */
export const SUBMISSION_SET_NODE =
  'urn:uuid:a54d6aa5-d40d-43f9-88c5-b4633d873bdd';

/** The types of an entry: of a document that is stored, or made on demand. */
export const STABLE_ENTRY = 'urn:uuid:7edca82f-054d-47f2-a032-9b2a5b5186c1';
export const ON_DEMAND_ENTRY = 'urn:uuid:34268e47-fdf5-41a6-ba33-82133c465248';

/** Stored queries. */
export const FIND_DOCUMENTS = 'urn:uuid:14d4debf-8f97-4251-9a74-a90016b0af0d';

export const STATUS_TYPE = 'urn:oasis:names:tc:ebxml-regrep:StatusType:';
export const ERROR_SEVERITY =
  'urn:oasis:names:tc:ebxml-regrep:ErrorSeverityType:';

/** The status of a response, as it is written. */
export const RESPONSE_STATUSES = {
  Success: 'urn:oasis:names:tc:ebxml-regrep:ResponseStatusType:Success',
  Failure: 'urn:oasis:names:tc:ebxml-regrep:ResponseStatusType:Failure',
  PartialSuccess: 'urn:ihe:iti:2007:ResponseStatusType:PartialSuccess',
} as const;

/** The status of a response, as this library says it. */
export type RegistryStatus = keyof typeof RESPONSE_STATUSES;
