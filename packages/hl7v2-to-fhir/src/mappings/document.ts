import type { DocumentReference } from 'fhir/r4.js';
import {
  asCodeOf,
  asCodingIn,
  asConcept,
  asFiles,
  asInstant,
  asLines,
  asPerson,
  asText,
} from '../element-readers.ts';
import type { MessageMapping } from '../message-mapping.ts';

/** MDM: each TXA is one DocumentReference. */
export const DOCUMENT_MESSAGE: MessageMapping<DocumentReference> = {
  main: 'TXA',
  segments: ['TXA', 'OBX'],
  what: 'the document',
  resource: {
    resourceType: 'DocumentReference',
    subject: { reference: 'Patient/person' },
    content: [{ attachment: {} }],
  },
  number: ['TXA-12'],
  statusOnlyWithout: 'OBX',
  replaces: {
    number: 'TXA-13',
    events: {
      T05: 'appends',
      T06: 'appends',
      T09: 'replaces',
      T10: 'replaces',
    },
  },
  elements: [
    {
      to: 'masterIdentifier.value',
      from: ['TXA-12'],
      read: asText,
      required: 'the number of the document',
    },
    {
      to: 'status',
      from: ['MSH-9.2', 'TXA-19'],
      read: asCodeOf(
        { T11: 'entered-in-error', CA: 'entered-in-error', OB: 'superseded' },
        'current',
      ),
    },
    {
      to: 'docStatus',
      from: ['TXA-17'],
      read: asCodeOf({
        AU: 'final',
        LA: 'final',
        DI: 'preliminary',
        DO: 'preliminary',
        IP: 'preliminary',
        IN: 'preliminary',
        PA: 'preliminary',
      }),
    },
    { to: 'type', from: ['TXA-2'], read: asConcept },
    { to: 'date', from: ['TXA-4', 'TXA-6', 'TXA-7'], read: asInstant },
    { to: 'author[]', from: ['TXA-9', 'TXA-5'], read: asPerson },
    {
      to: 'securityLabel[].coding[]',
      from: ['TXA-18'],
      read: asCodingIn('http://terminology.hl7.org/CodeSystem/v2-0272'),
    },
    { to: 'content', from: ['OBX-5'], read: asFiles },
    { to: 'content[].attachment.title', from: ['TXA-16'], read: asLines },
    { to: 'description', from: ['TXA-25'], read: asLines },
    { to: 'authenticator', from: ['TXA-10'], read: asPerson },
  ],
};
