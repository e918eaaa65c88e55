import type { Observation, ServiceRequest, Specimen } from 'fhir/r4.js';
import type { ResourceMapping } from '../element-mapping.ts';
import {
  asCodeOf,
  asConcept,
  asConcepts,
  asLines,
  asPerson,
  asText,
  asTime,
} from '../element-readers.ts';

/** The order that a report answers (OBR, ORC). */
export const REPORT_ORDER_MAPPING: ResourceMapping<ServiceRequest> = {
  resource: {
    resourceType: 'ServiceRequest',
    intent: 'order',
    subject: { reference: 'Patient/person' },
  },
  elements: [
    {
      to: 'status',
      from: ['OBR-25'],
      read: asCodeOf(
        { F: 'completed', C: 'completed', M: 'completed' },
        'unknown',
      ),
    },
    { to: 'identifier[].value', from: ['OBR-2', 'ORC-2'], read: asText },
    { to: 'code', from: ['OBR-4'], read: asConcept },
    { to: 'requester', from: ['OBR-16', 'ORC-12'], read: asPerson },
    { to: 'reasonCode', from: ['OBR-31'], read: asConcepts },
    { to: 'note[].text', from: ['OBR-13'], read: asLines },
  ],
};

/** The specimen of a report (SPM, OBR). */
export const SPECIMEN_MAPPING: ResourceMapping<Specimen> = {
  resource: {
    resourceType: 'Specimen',
    subject: { reference: 'Patient/person' },
  },
  elements: [
    { to: 'type', from: ['SPM-4'], read: asConcept },
    { to: 'identifier[].value', from: ['SPM-2'], read: asText },
    { to: 'accessionIdentifier.value', from: ['SPM-30'], read: asText },
    {
      to: 'collection.collectedDateTime',
      from: ['SPM-17', 'OBR-7'],
      read: asTime,
    },
    { to: 'collection.method', from: ['SPM-7'], read: asConcept },
    { to: 'collection.bodySite', from: ['SPM-8'], read: asConcept },
    { to: 'receivedTime', from: ['SPM-18', 'OBR-14'], read: asTime },
    { to: 'condition', from: ['SPM-24', 'SPM-22', 'SPM-21'], read: asConcepts },
    { to: 'note[].text', from: ['SPM-14'], read: asLines },
  ],
};

/** The fields of a result (OBX) that have no rules of their own. */
export const RESULT_MAPPING: ResourceMapping<Observation> = {
  resource: { resourceType: 'Observation' },
  elements: [
    { to: 'method', from: ['OBX-17'], read: asConcept },
    { to: 'bodySite', from: ['OBX-20'], read: asConcept },
  ],
};
