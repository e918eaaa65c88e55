import type { MedicationRequest } from 'fhir/r4.js';
import {
  asComponents,
  asConcept,
  asConcepts,
  asCount,
  asDirections,
  asDose,
  asLines,
  asPerson,
  asQuantity,
  asText,
  asTime,
} from '../element-readers.ts';
import type { MessageMapping } from '../message-mapping.ts';
import {
  asConfidentiality,
  asMedicationOrderStatus,
  asPriority,
} from './order-codes.ts';

/** OMP^O09, and ORM^O01 with RXO: each RXO is one MedicationRequest. */
export const MEDICATION_ORDER_MESSAGE: MessageMapping<MedicationRequest> = {
  main: 'RXO',
  segments: ['ORC', 'TQ1', 'RXO', 'RXR', 'RXC', 'NTE', 'DG1', 'OBX'],
  what: 'the medication order',
  isOrder: true,
  resource: {
    resourceType: 'MedicationRequest',
    intent: 'order',
    subject: { reference: 'Patient/person' },
  },
  number: ['ORC-2', 'ORC-3'],
  elements: [
    { to: 'identifier[].value', from: ['ORC-2', 'ORC-3'], read: asText },
    { to: 'status', from: ['ORC-1', 'ORC-5'], read: asMedicationOrderStatus },
    {
      to: 'medicationCodeableConcept',
      from: ['RXO-1'],
      read: asConcept,
      required: 'the medication',
    },
    { to: 'priority', from: ['TQ1-9', 'ORC-7.6'], read: asPriority },
    { to: 'requester', from: ['ORC-12', 'RXO-14'], read: asPerson },
    { to: 'authoredOn', from: ['ORC-9'], read: asTime },
    { to: 'reasonCode', from: ['RXO-20', 'DG1-3'], read: asConcepts },
    {
      to: 'dosageInstruction[].text',
      from: ['RXO-7', 'RXO-6', 'TQ1-11'],
      read: asDirections,
    },
    {
      to: 'dosageInstruction[].timing.code.text',
      from: ['TQ1-3', 'ORC-7.2'],
      read: asText,
    },
    {
      to: 'dosageInstruction[].timing.repeat.boundsPeriod.start',
      from: ['TQ1-7', 'ORC-7.4'],
      read: asTime,
    },
    {
      to: 'dosageInstruction[].timing.repeat.boundsPeriod.end',
      from: ['TQ1-8', 'ORC-7.5'],
      read: asTime,
    },
    {
      to: 'dosageInstruction[].additionalInstruction[].text',
      from: ['TQ1-10'],
      read: asLines,
    },
    {
      to: 'dosageInstruction[].doseAndRate[]',
      from: ['RXO-2', 'RXO-3'],
      read: asDose('RXO-4'),
    },
    {
      to: 'dosageInstruction[].doseAndRate[].rateQuantity',
      from: ['RXO-21'],
      read: asQuantity('RXO-22'),
    },
    { to: 'dosageInstruction[].route', from: ['RXR-1'], read: asConcept },
    { to: 'dosageInstruction[].site', from: ['RXR-2'], read: asConcept },
    { to: 'dosageInstruction[].method', from: ['RXR-4'], read: asConcept },
    {
      to: 'dispenseRequest.quantity',
      from: ['RXO-11'],
      read: asQuantity('RXO-12'),
    },
    {
      to: 'dispenseRequest.numberOfRepeatsAllowed',
      from: ['RXO-13'],
      read: asCount,
    },
    { to: 'note[].text', from: ['NTE-3'], read: asLines },
    { to: 'note', from: ['RXC-2'], read: asComponents },
    { to: 'meta.security[]', from: ['ORC-28'], read: asConfidentiality },
  ],
};
