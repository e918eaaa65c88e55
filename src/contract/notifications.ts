import { z } from 'zod';
import { eventMetaOf } from './event-meta.ts';
import { idSchema, instantSchema } from './primitives.ts';

/** What an account is told about its patients, unasked (interface-decisions.md, Webhooks out). */
export const NOTIFICATION_TYPES = [
  'patient.admit',
  'patient.transfer',
  'patient.discharge',
  'patient.pharmacy',
  'patient.laboratory',
] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/** Published readers want both of both places; what the source did not tell is `unknown`. */
const placeSchema = z.object({ name: z.string(), type: z.string() });
export const transferSchema = z
  .object({
    timestamp: instantSchema,
    sourceLocation: placeSchema,
    destinationLocation: placeSchema,
  })
  .meta({ id: 'Transfer' });

const about = {
  /** A Bundle with the Patient and what is told; works for ten minutes from when the webhook was sent. */
  url: z.string(),
  patientId: idSchema,
  externalId: z.string().optional(),
  whenSourceSent: instantSchema.optional(),
};

export const encounterEventSchema = z
  .object({
    meta: eventMetaOf(z.enum(['patient.admit', 'patient.transfer', 'patient.discharge'])),
    payload: z.object({
      ...about,
      admitTimestamp: instantSchema,
      dischargeTimestamp: instantSchema.optional(),
      transfers: z.array(transferSchema).optional(),
    }),
  })
  .meta({ id: 'EncounterEvent' });

export const pharmacyEventSchema = z
  .object({
    meta: eventMetaOf(z.literal('patient.pharmacy')),
    payload: z.object({ ...about, medicationDispensedDate: instantSchema.optional() }),
  })
  .meta({ id: 'PharmacyEvent' });

export const laboratoryEventSchema = z
  .object({
    meta: eventMetaOf(z.literal('patient.laboratory')),
    payload: z.object({ ...about, specimenCollectedDate: instantSchema.optional() }),
  })
  .meta({ id: 'LaboratoryEvent' });

/** How the hie source is asked again after a discharge. */
export const followUpSchema = z
  .object({
    state: z.enum(['open', 'new-data', 'no-new-data', 'cancelled']),
    reason: z.string().optional(),
    startedAt: instantSchema,
    endedAt: instantSchema.optional(),
    /** The queries that it has started so far. */
    requestIds: z.array(idSchema),
  })
  .meta({ id: 'DischargeFollowUp' });

/** A fact that was told, as the operations on notifications answer it. */
export const notificationSchema = z
  .object({
    id: idSchema.meta({ description: '`meta.requestId` of its webhook.' }),
    type: z.enum(NOTIFICATION_TYPES),
    status: z.enum(['current', 'withdrawn']).meta({
      description: 'withdrawn: the source has taken it back, or it was about somebody else.',
    }),
    patientId: idSchema,
    externalId: z.string().optional(),
    /** Name of the sender at this service. */
    sender: z.string(),
    occurredAt: instantSchema.optional(),
    whenSourceSent: instantSchema.optional(),
    toldAt: instantSchema,
    withdrawnAt: instantSchema.optional(),
    url: z.string().meta({ description: 'As in the webhook: a Bundle, for ten minutes from now.' }),
    followUp: followUpSchema.optional(),
  })
  .meta({ id: 'Notification' });
export type NotificationResponse = z.output<typeof notificationSchema>;

/** How the list may be ordered. */
export const NOTIFICATION_SORT = ['toldAt', 'id'] as const;
