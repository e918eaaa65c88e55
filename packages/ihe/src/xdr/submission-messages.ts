/** The SOAP actions of ITI-41. */
export const SUBMISSION_ACTIONS = {
  submit: 'urn:ihe:iti:2007:ProvideAndRegisterDocumentSet-b',
  submitResponse: 'urn:ihe:iti:2007:ProvideAndRegisterDocumentSet-bResponse',
} as const;
