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

/** RDE: each RXE is one MedicationRequest. */
export const PRESCRIPTION_MESSAGE: MessageMapping<MedicationRequest> = {
  main: 'RXE',
  segments: ['ORC', 'TQ1', 'RXE', 'RXR', 'RXC', 'NTE', 'DG1', 'OBX'],
  what: 'the prescription',
  isOrder: true,
  resource: {
    resourceType: 'MedicationRequest',
    intent: 'order',
    subject: { reference: 'Patient/person' },
  },
  number: ['ORC-2', 'ORC-3', 'RXE-15'],
  elements: [
    {
      to: 'identifier[].value',
      from: ['RXE-15', 'ORC-2', 'ORC-3'],
      read: asText,
    },
    { to: 'status', from: ['ORC-1', 'ORC-5'], read: asMedicationOrderStatus },
    {
      to: 'medicationCodeableConcept',
      from: ['RXE-2'],
      read: asConcept,
      required: 'the medication',
    },
    { to: 'priority', from: ['TQ1-9', 'ORC-7.6'], read: asPriority },
    { to: 'requester', from: ['ORC-12', 'RXE-13'], read: asPerson },
    { to: 'authoredOn', from: ['ORC-9'], read: asTime },
    { to: 'reasonCode', from: ['RXE-27', 'DG1-3'], read: asConcepts },
    {
      to: 'dosageInstruction[].text',
      from: ['RXE-7', 'RXE-21', 'TQ1-11', 'RXE-1.8'],
      read: asDirections,
    },
    {
      to: 'dosageInstruction[].timing.code.text',
      from: ['TQ1-3', 'RXE-1.2', 'ORC-7.2'],
      read: asText,
    },
    {
      to: 'dosageInstruction[].timing.repeat.boundsPeriod.start',
      from: ['TQ1-7', 'RXE-1.4', 'ORC-7.4'],
      read: asTime,
    },
    {
      to: 'dosageInstruction[].timing.repeat.boundsPeriod.end',
      from: ['TQ1-8', 'RXE-1.5', 'ORC-7.5'],
      read: asTime,
    },
    {
      to: 'dosageInstruction[].additionalInstruction[].text',
      from: ['TQ1-10'],
      read: asLines,
    },
    {
      to: 'dosageInstruction[].doseAndRate[]',
      from: ['RXE-3', 'RXE-4'],
      read: asDose('RXE-5'),
    },
    {
      to: 'dosageInstruction[].doseAndRate[].rateQuantity',
      from: ['RXE-23'],
      read: asQuantity('RXE-24'),
    },
    { to: 'dosageInstruction[].route', from: ['RXR-1'], read: asConcept },
    { to: 'dosageInstruction[].site', from: ['RXR-2'], read: asConcept },
    { to: 'dosageInstruction[].method', from: ['RXR-4'], read: asConcept },
    {
      to: 'dispenseRequest.quantity',
      from: ['RXE-10'],
      read: asQuantity('RXE-11'),
    },
    {
      to: 'dispenseRequest.numberOfRepeatsAllowed',
      from: ['RXE-12'],
      read: asCount,
    },
    { to: 'note[].text', from: ['NTE-3'], read: asLines },
    { to: 'note', from: ['RXC-2'], read: asComponents },
    { to: 'meta.security[]', from: ['ORC-28'], read: asConfidentiality },
  ],
};
