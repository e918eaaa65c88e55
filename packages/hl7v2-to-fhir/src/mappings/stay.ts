import type { Condition, Procedure } from 'fhir/r4.js';
import type { NumberedMapping } from '../element-mapping.ts';
import {
  asCodeOf,
  asCodingOf,
  asConcept,
  asLines,
  asPerson,
  asTime,
} from '../element-readers.ts';

/** Codes of FHIR's condition-ver-status that HL7 v2 has. */
type DiagnosisCertainty = 'provisional' | 'confirmed' | 'entered-in-error';

/** A diagnosis of a stay. */
export const DG1_MAPPING: NumberedMapping<Condition> = {
  resource: {
    resourceType: 'Condition',
    subject: { reference: 'Patient/person' },
    category: [
      {
        coding: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/condition-category',
            code: 'encounter-diagnosis',
          },
        ],
      },
    ],
  },
  number: ['DG1-20', 'DG1-3'],
  elements: [
    { to: 'code', from: ['DG1-3'], read: asConcept },
    { to: 'code.text', from: ['DG1-4'], read: asLines },
    {
      to: 'verificationStatus.coding[]',
      from: ['DG1-6'],
      read: asCodingOf<DiagnosisCertainty>(
        'http://terminology.hl7.org/CodeSystem/condition-ver-status',
        {
          A: 'provisional',
          W: 'provisional',
          F: 'confirmed',
        },
      ),
    },
    {
      to: 'verificationStatus.coding[]',
      from: ['DG1-21'],
      read: asCodingOf<DiagnosisCertainty>(
        'http://terminology.hl7.org/CodeSystem/condition-ver-status',
        { D: 'entered-in-error', A: undefined, U: undefined, X: undefined },
      ),
    },
    { to: 'recordedDate', from: ['DG1-5', 'DG1-19'], read: asTime },
    { to: 'asserter', from: ['DG1-16'], read: asPerson },
    {
      to: 'meta.security[]',
      from: ['DG1-18'],
      read: asCodingOf(
        'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
        { Y: 'R', N: undefined },
      ),
    },
  ],
};

/** A procedure of a stay. */
export const PR1_MAPPING: NumberedMapping<Procedure> = {
  resource: {
    resourceType: 'Procedure',
    status: 'completed',
    subject: { reference: 'Patient/person' },
  },
  number: ['PR1-19', 'PR1-3'],
  elements: [
    {
      to: 'status',
      from: ['PR1-20'],
      read: asCodeOf({ D: 'entered-in-error' }, 'completed'),
    },
    { to: 'code', from: ['PR1-3'], read: asConcept },
    { to: 'code.text', from: ['PR1-4'], read: asLines },
    { to: 'performedDateTime', from: ['PR1-5'], read: asTime },
    { to: 'performer[].actor', from: ['PR1-12', 'PR1-11'], read: asPerson },
  ],
};
