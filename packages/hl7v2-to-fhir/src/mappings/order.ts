import type { ServiceRequest } from 'fhir/r4.js';
import {
  asCodeOf,
  asConcept,
  asConcepts,
  asLines,
  asPerson,
  asText,
  asTime,
} from '../element-readers.ts';
import type { MessageMapping } from '../message-mapping.ts';
import { asConfidentiality, asPriority } from './order-codes.ts';

/** ORM^O01, OML and OMG: each OBR is one ServiceRequest. */
export const ORDER_MESSAGE: MessageMapping<ServiceRequest> = {
  main: 'OBR',
  segments: ['ORC', 'TQ1', 'OBR', 'NTE', 'DG1', 'OBX'],
  what: 'the order',
  isOrder: true,
  resource: {
    resourceType: 'ServiceRequest',
    intent: 'order',
    subject: { reference: 'Patient/person' },
  },
  number: ['OBR-2', 'ORC-2', 'OBR-3', 'ORC-3'],
  andCode: 'OBR-4',
  elements: [
    {
      to: 'identifier[].value',
      from: ['OBR-2', 'ORC-2', 'OBR-3', 'ORC-3'],
      read: asText,
    },
    {
      to: 'status',
      from: ['ORC-1', 'ORC-5'],
      read: asCodeOf(
        {
          CA: 'revoked',
          OC: 'revoked',
          CR: 'revoked',
          DC: 'revoked',
          OD: 'revoked',
          DR: 'revoked',
          RQ: 'revoked',
          RU: 'revoked',
          HD: 'on-hold',
          OH: 'on-hold',
          HR: 'on-hold',
          CM: 'completed',
        },
        'active',
      ),
    },
    {
      to: 'code',
      from: ['OBR-4'],
      read: asConcept,
      required: 'what is ordered',
    },
    {
      to: 'priority',
      from: ['TQ1-9', 'OBR-27.6', 'ORC-7.6', 'OBR-5'],
      read: asPriority,
    },
    { to: 'requester', from: ['ORC-12', 'OBR-16'], read: asPerson },
    { to: 'authoredOn', from: ['ORC-9'], read: asTime },
    {
      to: 'occurrenceDateTime',
      from: ['TQ1-7', 'OBR-27.4', 'OBR-6'],
      read: asTime,
    },
    { to: 'reasonCode', from: ['OBR-31', 'DG1-3'], read: asConcepts },
    { to: 'note[].text', from: ['OBR-13', 'NTE-3'], read: asLines },
    { to: 'meta.security[]', from: ['ORC-28'], read: asConfidentiality },
  ],
};
