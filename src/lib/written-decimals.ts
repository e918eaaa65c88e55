import { randomBytes } from 'node:crypto';

/**
 * Decimals are precise to what is written: 5.00 is not 5. JSON.parse makes
 * numbers of them, so beside a number that would be written otherwise, its text
 * is kept in an extension, which every step from the source to our API passes
 * on like any other content, and which `fhirJson` resolves
 * (docs/decisions/0166-decimals-as-written.md).
 */
const WRITTEN = 'urn:medical-exchange:written';

/**
 * A member whose value is a number that may be written otherwise. Inside a
 * string a quotation mark has a backslash before it, so none is found there: it
 * would have to end a name that a quotation mark without a backslash began.
 */
const MEMBER =
  /(?<!\\)"(\w+)"(\s*:\s*)(-?(?:\d+\.\d*0|\d+\.0{6}\d*|(?=[\d.]{16})\d+(?:\.\d+)?|\d+(?:\.\d+)?[eE][+-]?\d+))(?=\s*[,}\]])/g;

/**
 * As JSON.parse, and keeps how decimals are written. A number whose element has
 * extensions of the sender is only a number.
 */
export const parseFhirJson = (text: string): unknown =>
  JSON.parse(
    text.replaceAll(
      MEMBER,
      (whole, name: string, _colon: string, number: string) =>
        String(Number(number)) === number || text.includes(`"_${name}"`)
          ? whole
          : `${whole},"_${name}":${JSON.stringify(elementOf(number))}`,
    ),
  );

/**
 * A decimal that is no JSON yet (`5.00`, `+.5`, `7.`) as members of a FHIR
 * element.
 */
export function decimalOf(name: string, text: string): Record<string, unknown> {
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

/** A mark of this process, which no content can contain. */
const MARK = randomBytes(16).toString('hex');
const MARKED = new RegExp(`"${MARK}([-+.\\deE]+)"`, 'g');

/** As JSON.stringify, with decimals as they were written. */
export function fhirJson(value: object): string {
  const text = JSON.stringify(value);
  if (!text.includes(WRITTEN)) return text;
  return JSON.stringify(value, (_, part: unknown) => resolved(part)).replaceAll(
    MARKED,
    '$1',
  );
}

type Part = Record<string, unknown>;
const isPart = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function resolved(part: unknown): unknown {
  if (!isPart(part)) return part;
  const beside = Object.keys(part).filter(
    (name) => name.startsWith('_') && writtenIn(part[name]) !== undefined,
  );
  if (beside.length === 0) return part;
  const copy = { ...part };
  for (const name of beside) {
    const written = writtenIn(part[name]);
    delete copy[name];
    // A step may have changed the number since. Larger than any number of
    // JavaScript: JSON.stringify made it null.
    const value = part[name.slice(1)];
    const number = Number(written);
    if (value === number || (value === null && !Number.isFinite(number)))
      copy[name.slice(1)] = `${MARK}${written}`;
  }
  return copy;
}

/** How the number beside was written, if the element says only that. */
export function writtenIn(element: unknown): string | undefined {
  if (
    !isPart(element) ||
    !Array.isArray(element.extension) ||
    element.extension.length > 1
  )
    return undefined;
  const extension: unknown = element.extension[0];
  if (!isPart(extension) || extension.url !== WRITTEN) return undefined;
  const { valueString } = extension;
  return typeof valueString === 'string' &&
    /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(valueString)
    ? valueString
    : undefined;
}
