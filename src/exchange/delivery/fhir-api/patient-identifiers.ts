import { type RawBuilder, sql } from 'kysely';
import { hasExternalId } from '../../people/patients/patient-store.ts';

const EXTERNAL = 'urn:medical-exchange:external-id';
export const SSN = 'http://hl7.org/fhir/sid/us-ssn';
export const LICENSE = 'urn:medical-exchange:drivers-license';

/** An identifier that a patient is searched by. */
export interface IdentifierCriterion {
  system?: string;
  value: string;
}

export const anyCondition = (
  conditions: readonly RawBuilder<unknown>[],
): RawBuilder<unknown> =>
  conditions.length === 0 ? sql`false` : sql.join(conditions, sql` or `);

/**
 * Social security numbers and licences are looked up by their index, which
 * row-level security hides from `@>` itself.
 */
export function identifiedByOne(
  alternatives: readonly IdentifierCriterion[],
): RawBuilder<unknown> {
  const fits = anyCondition(alternatives.map(identified));
  if (
    !alternatives.every(
      ({ system = '' }) => system === SSN || system.startsWith(LICENSE),
    )
  )
    return fits;
  const values = alternatives.flatMap(({ value }) => [
    value,
    value.replaceAll('-', ''),
  ]);
  return sql`patient.id in (select patients_with_identifiers(${values}::text[])) and (${fits})`;
}

/**
 * Without a system, any of the patient's identifiers; with one, those that the
 * Patient shows under it, and additional ones.
 */
function identified({
  system,
  value,
}: IdentifierCriterion): RawBuilder<unknown> {
  const personal = (type: string, text: string, state?: string) =>
    sql`personal_identifiers @> ${JSON.stringify([{ type, value: text, ...(state && { state }) }])}::jsonb`;
  const ssn = personal('ssn', value.replaceAll('-', ''));
  if (system === undefined)
    return anyCondition([
      hasExternalId(value),
      ssn,
      personal('driversLicense', value),
      sql`jsonb_path_exists(additional_identifiers, '$.*[*] ? (@ == $value)', ${JSON.stringify({ value })}::jsonb)`,
    ]);
  if (system === EXTERNAL) return hasExternalId(value);
  if (system === SSN) return ssn;
  if (system === LICENSE || system.startsWith(`${LICENSE}:`))
    return personal('driversLicense', value, system.slice(LICENSE.length + 1));
  return sql`additional_identifiers -> ${system} ? ${value}`;
}
