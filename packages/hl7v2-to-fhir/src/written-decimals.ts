/**
 * Decimals are precise to what is written: 5.00 is not 5. Beside a number that
 * JSON would write otherwise, its text is kept in this extension.
 */
const WRITTEN = 'urn:medical-exchange:written';

/**
 * A decimal that is no JSON yet (`5.00`, `+.5`, `7.`) as members of a FHIR
 * element.
 */
export function hl7Decimal(
  name: string,
  text: string,
): Record<string, unknown> {
  const [, sign = '', whole = '', fraction = ''] =
    /^([+-]?)0*(\d*)\.?(\d*)$/.exec(text) ?? [];
  const written = `${sign === '-' ? '-' : ''}${whole || '0'}${fraction === '' ? '' : `.${fraction}`}`;
  const value = Number(written);
  return {
    [name]: value,
    ...(String(value) === written ? {} : { [`_${name}`]: elementOf(written) }),
  };
}

const elementOf = (written: string): object => ({
  extension: [{ url: WRITTEN, valueString: written }],
});
