/** The path of the FHIR API on this service. */
export const FHIR_PATH = '/fhir/R4';
