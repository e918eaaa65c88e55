import type { Immunization } from 'fhir/r4.js';
import {
  asCodeOf,
  asConcept,
  asDay,
  asLines,
  asPerson,
  asQuantity,
  asText,
  asTime,
  isCode,
  isOnly,
} from '../element-readers.ts';
import type { MessageMapping } from '../message-mapping.ts';

/** VXU^V04: each RXA is one Immunization. */
export const VACCINATION_MESSAGE: MessageMapping<Immunization> = {
  main: 'RXA',
  segments: ['ORC', 'RXA', 'RXR', 'OBX', 'NTE'],
  what: 'the vaccination',
  resource: {
    resourceType: 'Immunization',
    patient: { reference: 'Patient/person' },
    occurrenceString: 'unknown',
  },
  number: ['ORC-3', 'ORC-2'],
  numberOfPerson: 'RXA-3',
  andCode: 'RXA-5',
  leftOut: { 'RXA-5': ['998'], 'RXA-6': ['999'], 'ORC-3': ['9999'] },
  elements: [
    { to: 'identifier[].value', from: ['ORC-3'], read: asText },
    {
      to: 'status',
      from: ['RXA-21', 'RXA-20'],
      read: asCodeOf(
        { D: 'entered-in-error', RE: 'not-done', NA: 'not-done' },
        'completed',
      ),
    },
    { to: 'isSubpotent', from: ['RXA-20'], read: isOnly('PA') },
    {
      to: 'vaccineCode',
      from: ['RXA-5'],
      read: asConcept,
      required: 'the vaccine',
    },
    {
      to: 'occurrenceDateTime',
      from: ['RXA-3'],
      read: asTime,
      instead: 'occurrenceString',
    },
    { to: 'primarySource', from: ['RXA-9'], read: isCode('00') },
    { to: 'doseQuantity', from: ['RXA-6'], read: asQuantity('RXA-7') },
    { to: 'lotNumber', from: ['RXA-15'], read: asText },
    { to: 'expirationDate', from: ['RXA-16'], read: asDay },
    { to: 'manufacturer.display', from: ['RXA-17.2', 'RXA-17'], read: asText },
    { to: 'statusReason', from: ['RXA-18'], read: asConcept },
    { to: 'performer[].actor', from: ['RXA-10'], read: asPerson },
    { to: 'route', from: ['RXR-1'], read: asConcept },
    { to: 'site', from: ['RXR-2'], read: asConcept },
    { to: 'reasonCode[]', from: ['RXA-19'], read: asConcept },
    { to: 'note[].text', from: ['NTE-3'], read: asLines },
  ],
};
