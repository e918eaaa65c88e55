/** Where the text of a decimal is kept that a number would change (5.00). */
const WRITTEN = 'urn:medical-exchange:written';

/**
 * A decimal of a document (`5.00`, `+.5`, `7.`) as members of a FHIR element:
 * the number, and beside it an extension with what is written, if JSON would
 * write the number otherwise.
 */
export function cdaDecimal(
  name: string,
  text: string,
): Record<string, unknown> {
  const [, sign = '', whole = '', fraction = ''] =
    /^([+-]?)0*(\d*)\.?(\d*)$/.exec(text) ?? [];
  const integer = `${sign === '-' ? '-' : ''}${whole || '0'}`;
  const written = fraction === '' ? integer : `${integer}.${fraction}`;
  const value = Number(written);
  if (String(value) === written) return { [name]: value };
  return {
    [name]: value,
    [`_${name}`]: { extension: [{ url: WRITTEN, valueString: written }] },
  };
}
