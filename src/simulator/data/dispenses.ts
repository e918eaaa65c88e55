import type { MedicationDispense, MedicationRequest } from 'fhir/r4.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const SUPPLY_DAYS = 30;
/** No dispenses after the date for which the samples were generated. */
const SAMPLES_END_MS = Date.parse('2026-01-01T00:00:00Z');

/**
 * The fills of a prescription: three for an active one, otherwise one, beginning a day after it was written. Synthea
 * generates no dispenses; these are derived from the prescription alone, so they are always the same.
 */
export function dispensesOf(request: MedicationRequest): MedicationDispense[] {
  const authoredMs = Date.parse(request.authoredOn ?? '');
  if (!request.id || Number.isNaN(authoredMs)) return [];
  const fills = request.status === 'active' ? 3 : 1;
  return Array.from({ length: fills }, (_, fill) => ({
    fill,
    handedOverMs: authoredMs + DAY_MS + fill * SUPPLY_DAYS * DAY_MS,
  }))
    .filter(({ handedOverMs }) => handedOverMs < SAMPLES_END_MS)
    .map(({ fill, handedOverMs }) => dispense(request, fill, handedOverMs));
}

function dispense(request: MedicationRequest, fill: number, handedOverMs: number): MedicationDispense {
  const { medicationCodeableConcept, medicationReference, subject, dosageInstruction } = request;
  return {
    resourceType: 'MedicationDispense',
    id: `${request.id}/dispense/${fill + 1}`,
    status: 'completed',
    ...(medicationCodeableConcept ? { medicationCodeableConcept } : {}),
    ...(medicationReference ? { medicationReference } : {}),
    subject,
    authorizingPrescription: [{ reference: `urn:uuid:${request.id}` }],
    type: {
      coding: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
          code: fill === 0 ? 'FF' : 'RF',
          display: fill === 0 ? 'First Fill' : 'Refill',
        },
      ],
    },
    quantity: { value: SUPPLY_DAYS },
    daysSupply: {
      value: SUPPLY_DAYS,
      unit: 'days',
      system: 'http://unitsofmeasure.org',
      code: 'd',
    },
    whenHandedOver: new Date(handedOverMs).toISOString(),
    ...(dosageInstruction ? { dosageInstruction } : {}),
  };
}
