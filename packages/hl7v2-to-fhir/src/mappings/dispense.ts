import type { MedicationDispense } from 'fhir/r4.js';
import type { ResourceMapping } from '../element-mapping.ts';
import {
  asCodeOf,
  asComponents,
  asConcept,
  asDirections,
  asDose,
  asLines,
  asQuantity,
  asText,
  asTime,
} from '../element-readers.ts';

/** RDS^O13: each RXD is one MedicationDispense. */
export const DISPENSE_MAPPING: ResourceMapping<MedicationDispense> = {
  resource: {
    resourceType: 'MedicationDispense',
    status: 'completed',
    subject: { reference: 'Patient/person' },
  },
  elements: [
    {
      to: 'status',
      from: ['ORC-1'],
      read: asCodeOf(
        { CA: 'cancelled', OC: 'cancelled', CR: 'cancelled' },
        'completed',
      ),
    },
    { to: 'identifier[].value', from: ['RXD-7'], read: asText },
    {
      to: 'medicationCodeableConcept',
      from: ['RXD-2'],
      read: asConcept,
      required: 'the medication',
    },
    { to: 'quantity', from: ['RXD-4'], read: asQuantity('RXD-5') },
    { to: 'whenHandedOver', from: ['RXD-3'], read: asTime },
    {
      to: 'dosageInstruction[].text',
      from: ['RXE-7', 'RXE-21', 'TQ1-11', 'RXE-1.8'],
      read: asDirections,
    },
    {
      to: 'dosageInstruction[].timing.code.text',
      from: ['TQ1-3', 'RXE-1.2'],
      read: asText,
    },
    {
      to: 'dosageInstruction[].timing.repeat.boundsPeriod.start',
      from: ['TQ1-7', 'RXE-1.4'],
      read: asTime,
    },
    {
      to: 'dosageInstruction[].timing.repeat.boundsPeriod.end',
      from: ['TQ1-8', 'RXE-1.5'],
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
    { to: 'dosageInstruction[].route', from: ['RXR-1'], read: asConcept },
    { to: 'dosageInstruction[].site', from: ['RXR-2'], read: asConcept },
    { to: 'dosageInstruction[].method', from: ['RXR-4'], read: asConcept },
    { to: 'note[].text', from: ['RXD-9'], read: asLines },
    { to: 'note', from: ['RXC-2'], read: asComponents },
  ],
};
