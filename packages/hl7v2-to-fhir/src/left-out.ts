import type { FieldPlace } from './field-places.ts';

/**
 * Fields that HL7's v2-to-FHIR guide maps, or senders use, and that are left out
 * on purpose, with what they say. They are counted as not read.
 */
export const FIELDS_LEFT_OUT = {
  'OBX-18': 'equipment',
  'OBX-25': 'medical director',
  'OBR-8': 'end of the observation',
  'OBR-34': 'technician',
  'OBR-35': 'transcriptionist',
  'SPM-6': 'additive',
  'SPM-12': 'amount',
  'SPM-27': 'container',
  'RXO-18': 'strength',
  'RXE-19': 'daily maximum',
} satisfies Partial<Record<FieldPlace, string>>;
