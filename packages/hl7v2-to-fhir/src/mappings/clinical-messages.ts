import type { AnyMessageMapping } from '../message-mapping.ts';
import { APPOINTMENT_MESSAGE } from './appointment.ts';
import { DOCUMENT_MESSAGE } from './document.ts';
import { MEDICATION_ORDER_MESSAGE } from './medication-order.ts';
import { ORDER_MESSAGE } from './order.ts';
import { PRESCRIPTION_MESSAGE } from './prescription.ts';
import { VACCINATION_MESSAGE } from './vaccination.ts';

/**
 * What is recorded without being announced, by type and event, or by type where
 * the events differ only in the status that they report.
 */
export const CLINICAL_MESSAGES = {
  'VXU^V04': VACCINATION_MESSAGE,
  MDM: DOCUMENT_MESSAGE,
  SIU: APPOINTMENT_MESSAGE,
  'ORM^O01': ORDER_MESSAGE,
  'RDE^O11': PRESCRIPTION_MESSAGE,
  'OMP^O09': MEDICATION_ORDER_MESSAGE,
  'OML^O21': ORDER_MESSAGE,
  'OML^O33': ORDER_MESSAGE,
  'OMG^O19': ORDER_MESSAGE,
  'RDE^O01': PRESCRIPTION_MESSAGE,
} satisfies Record<string, AnyMessageMapping>;
