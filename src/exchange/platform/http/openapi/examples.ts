import type { OperationName } from '../operation.ts';
import type { JsonObject } from './document.ts';

const networkQuery = {
  sources: { hie: { enabled: true }, pharmacy: { enabled: true, realtime: false }, lab: { enabled: true } },
  metadata: { visit: '2026-11-21' },
};

/** Request bodies shown in the API reference; a test validates them against the schemas. */
export const REQUEST_EXAMPLES: Partial<Record<OperationName, unknown>> = {
  createPatient: {
    firstName: 'Jane Marie',
    lastName: 'Sample',
    dob: '1984-03-09',
    genderAtBirth: 'F',
    personalIdentifiers: [{ type: 'driversLicense', state: 'MA', value: 'S99000000' }],
    address: [{ addressLine1: '12 Beacon Street', city: 'Boston', state: 'MA', zip: '02108' }],
    contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
    externalId: 'chart-20481',
    additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
    networkQuery,
  },
  splitRecordResource: { source: 'lab', sourceId: '8f3a1c' },
  createFacility: {
    name: 'Harborview Family Medicine',
    npi: '1234567893',
    tin: '042103580',
    address: { addressLine1: '220 Clarendon Street', city: 'Boston', state: 'MA', zip: '02116' },
  },
  startNetworkQuery: networkQuery,
  createCohort: {
    name: 'Diabetes, high risk',
    description: 'HbA1c above 9 in the last year',
    color: 'blue',
    settings: { monitoring: { adt: { enabled: true } } },
  },
  addPatientToCohorts: { cohortIds: ['01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d'] },
  updateCohort: {
    color: 'red',
    settings: { monitoring: { hie: { enabled: true, frequency: 'weekly' }, adt: { enabled: true } } },
  },
  addPatientsToCohort: { patientIds: ['01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21'] },
  removePatientsFromCohort: { allPatients: true },
  updateSettings: { webhookUrl: 'https://hooks.example.org/medical' },
};

/** Adds the examples to the request bodies of the document. */
export function addExamples(document: JsonObject): JsonObject {
  for (const path of Object.values(document.paths as Record<string, Record<string, OpenApiOperation>>)) {
    for (const { operationId, requestBody } of Object.values(path)) {
      const example = REQUEST_EXAMPLES[operationId?.replace(/Alias$/, '') as OperationName];
      const content = requestBody?.content['application/json'];
      if (content !== undefined && example !== undefined) content.example = example;
    }
  }
  return document;
}

interface OpenApiOperation {
  operationId?: string;
  requestBody?: { content: Record<string, { example?: unknown }> };
}
