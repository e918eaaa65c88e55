import type { Bundle, FhirResource } from 'fhir/r4.js';
import { filled } from '../../../src/lib/filled.ts';
import type { AdtFacts } from './hl7v2.ts';
import templates from './messages.json' with { type: 'json' };

const { patient, ...SUBJECTS } = templates.fhir;

/**
 * A Bundle with the current state of the encounter, with a fill, or with a
 * result.
 */
export function notificationBundle({
  id,
  event,
  sample,
  record,
  visitNumber,
  visit,
}: AdtFacts): Bundle {
  const { isCancelled, admittedAt, dischargedAt, stays } = visit;
  const { firstName, lastName, dob, genderAtBirth, address } =
    sample.createBody;
  const values = {
    id,
    at: event.at,
    record,
    visitNumber,
    admittedAt,
    dischargedAt,
    firstName,
    lastName,
    dob,
    status: isCancelled
      ? 'cancelled'
      : dischargedAt === undefined
        ? 'in-progress'
        : 'finished',
    stays: stays.map(({ location, from }) => ({
      location: { display: location },
      period: { start: from },
    })),
    gender: genderAtBirth === 'M' ? 'male' : 'female',
    address: address.map(({ addressLine1, city, state, zip }) => ({
      line: [addressLine1],
      city,
      state,
      postalCode: zip,
    })),
  };
  const subjects =
    event.event === 'fill' || event.event === 'result'
      ? event.event
      : 'encounter';
  const resources = filled(
    [patient, ...SUBJECTS[subjects]],
    values,
  ) as FhirResource[];
  const entry = resources.map((resource) => ({ resource }));
  return {
    resourceType: 'Bundle',
    id,
    type: 'collection',
    timestamp: event.at,
    entry,
  };
}
