import type { Json } from '../rules/json.ts';
import { fhirPeriod } from './fhir-times.ts';
import { statusOf } from './statements.ts';

const STATUSES: Readonly<Record<string, string>> = {
  active: 'active',
  aborted: 'revoked',
  cancelled: 'revoked',
  completed: 'completed',
  held: 'on-hold',
  new: 'active',
  suspended: 'on-hold',
};
const INTENTS: Readonly<Record<string, string>> = { ARQ: 'order', PRP: 'proposal', RQO: 'order' };

/** A procedure, test or visit that was requested or planned, and of which nothing says that it took place. */
export function asRequest(
  { id, identifier, code, category, subject, bodySite }: Json,
  statement: Json,
): Json {
  return {
    resourceType: 'ServiceRequest',
    id,
    identifier,
    status: STATUSES[statusOf(statement) ?? 'new'] ?? 'unknown',
    intent: INTENTS[String(statement['@_moodCode'])] ?? 'plan',
    // The converter keeps the code of what it takes for a goal as its category.
    code: code ?? (Array.isArray(category) ? (category as unknown[])[0] : undefined),
    subject,
    occurrencePeriod: fhirPeriod(statement.effectiveTime),
    bodySite,
  };
}
