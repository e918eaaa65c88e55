import fc from 'fast-check';
import { person, type ResultRow } from './bulk-environment.ts';

/**
 * Few persons, few zips: rows that often tell of the same person, in every way
 * two rows can.
 */
export const someRows = (maxLength: number) =>
  fc.array(
    fc
      .record({
        name: fc.constantFrom(
          'Ann',
          'ANN',
          'Bea',
          'Bea Lou',
          'Straße',
          'STRASSE',
        ),
        zip: fc.constantFrom('02116', '02117', '02118', '2118'),
        line: fc.constantFrom('1 Main St', '1 MAIN ST', '2 Oak'),
        secondZip: fc.option(fc.constantFrom('02116', '02117', '02119'), {
          freq: 2,
        }),
        phone: fc.constantFrom('', '6175551234', '6175551235'),
        email: fc.constantFrom('', 'a@example.org', 'A@example.org'),
        ssn: fc.constantFrom('', '', '123456789', '987654321'),
        externalId: fc.constantFrom('', 'r-1', 'r-2'),
        hieOptOut: fc.constantFrom('', '', 'true', 'false'),
      })
      .map(
        ({
          name,
          zip,
          line,
          secondZip,
          phone,
          email,
          ssn,
          externalId,
          hieOptOut,
        }) =>
          person(name, zip, {
            'addressLine1-1': line,
            ...(secondZip === null
              ? {}
              : {
                  'addressLine1-2': '9 Elm',
                  'city-2': 'Boston',
                  'state-2': 'MA',
                  'zip-2': secondZip,
                }),
            'phone-1': phone,
            'email-2': email,
            ssn,
            externalId,
            hieOptOut,
          }),
      ),
    { minLength: 1, maxLength },
  );

/**
 * A result without what differs from run to run: each patient is named by the
 * row that first told of it.
 */
export function withoutIds(rows: readonly ResultRow[]): ResultRow[] {
  const names = new Map<string, string>([['', '']]);
  for (const [index, { patientId }] of rows.entries())
    if (!names.has(patientId)) names.set(patientId, `of row ${index + 1}`);
  return rows.map((row) => ({
    ...row,
    patientId: names.get(row.patientId) ?? '',
    metriportId: names.get(row.metriportId) ?? '',
    reason: row.reason.replaceAll(
      /[0-9a-f-]{36}/g,
      (id) => names.get(id) ?? id,
    ),
  }));
}
