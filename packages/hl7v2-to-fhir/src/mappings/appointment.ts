import type { Appointment } from 'fhir/r4.js';
import {
  asCodeOf,
  asConcept,
  asConcepts,
  asInstant,
  asLines,
  asLocations,
  asMinutes,
  asParticipants,
  asText,
} from '../element-readers.ts';
import type { MessageMapping } from '../message-mapping.ts';

/** SIU: each SCH is one Appointment. */
export const APPOINTMENT_MESSAGE: MessageMapping<Appointment> = {
  main: 'SCH',
  segments: ['SCH', 'TQ1', 'NTE', 'DG1', 'OBX', 'AIS', 'AIP', 'AIL'],
  what: 'the appointment',
  resource: {
    resourceType: 'Appointment',
    participant: [
      { actor: { reference: 'Patient/person' }, status: 'accepted' },
    ],
  },
  number: ['SCH-2', 'SCH-1'],
  elements: [
    { to: 'identifier[].value', from: ['SCH-2', 'SCH-1'], read: asText },
    {
      to: 'status',
      from: ['MSH-9.2', 'SCH-25'],
      read: asCodeOf(
        {
          S15: 'cancelled',
          S16: 'cancelled',
          S17: 'entered-in-error',
          S26: 'noshow',
          Pending: 'pending',
          Waitlist: 'waitlist',
          Started: 'arrived',
          Complete: 'fulfilled',
          Cancelled: 'cancelled',
          Dc: 'cancelled',
          Deleted: 'entered-in-error',
          Noshow: 'noshow',
        },
        'booked',
      ),
    },
    { to: 'appointmentType', from: ['SCH-8'], read: asConcept },
    { to: 'reasonCode', from: ['SCH-7', 'DG1-3'], read: asConcepts },
    { to: 'serviceType[]', from: ['AIS-3'], read: asConcept },
    { to: 'start', from: ['TQ1-7', 'SCH-11.4', 'AIS-4'], read: asInstant },
    { to: 'end', from: ['TQ1-8', 'SCH-11.5'], read: asInstant },
    {
      to: 'minutesDuration',
      from: ['SCH-9', 'AIS-7'],
      read: asMinutes('SCH-10'),
    },
    { to: 'participant', from: ['AIP-3'], read: asParticipants },
    { to: 'participant', from: ['AIL-3'], read: asLocations },
    { to: 'comment', from: ['NTE-3'], read: asLines },
  ],
};
