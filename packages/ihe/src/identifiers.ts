/*
 * Ids as the networks write them. What came is kept as it came, because a
 * gateway must be asked with its own spelling; two ids are compared in one form.
 */

const SCHEMES = /^(?:urn:oid:|urn:uuid:|uuid:)/i;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A patient's id, and the OID of the authority that gave it out. */
export interface PatientIdentifier {
  readonly id: string;

  /** An OID without `urn:oid:`; empty if the message named none. */
  readonly authority: string;
}

/**
 * The one form in which ids are compared: without `urn:oid:`, `urn:uuid:`,
 * `uuid:`, angle brackets, braces and outer space; a UUID in lower case.
 */
export function comparableId(id: string): string {
  const bare = id
    .trim()
    .replace(/^<(.*)>$/s, '$1')
    .replace(SCHEMES, '')
    .replace(/^\{(.*)\}$/s, '$1');

  return UUID.test(bare) ? bare.toLowerCase() : bare;
}

/** Whether two ids mean the same thing, however each is spelt. */
export function isSameId(left: string, right: string): boolean {
  return comparableId(left) === comparableId(right);
}

/**
 * An OID, or a UUID in the place of one, without its scheme: what `root`
 * attributes and RepositoryUniqueId hold.
 */
export function withoutUrn(id: string): string {
  return id.trim().replace(SCHEMES, '');
}

/**
 * A home community id as HomeCommunityId, `home` and SAML want it: with
 * `urn:oid:`. One that has another scheme stays as it is.
 */
export function withUrnOid(id: string): string {
  const trimmed = id.trim();

  return /^urn:/i.test(trimmed) ? trimmed : `urn:oid:${trimmed}`;
}

/**
 * Writes a patient's id as an HL7 v2 CX: `id^^^&oid&ISO` (ITI TF-3 4.2.3.1.7).
 * Separators within the id are escaped as HL7 v2 does.
 */
export function writeCx(identifier: PatientIdentifier): string {
  const id = identifier.id.replace(
    /[\\^&~|]/g,
    (character) => HL7_ESCAPES[character as keyof typeof HL7_ESCAPES],
  );

  return `${id}^^^&${withoutUrn(identifier.authority)}&ISO`;
}

/**
 * Reads a CX. Apostrophes around it, as in queries, are left aside. Separators
 * within the id are taken as part of it if the rest is still told apart.
 */
export function readCx(text: string): PatientIdentifier {
  const plain = withoutApostrophes(text);

  const whole = plain.match(
    /^(.*)\^[^^]*\^[^^]*\^[^^&]*&([^^&]*)&[^^&]*(?:\^.*)?$/s,
  );

  if (whole !== null) {
    const [, id = '', authority = ''] = whole;

    return { id: unescapeHl7(id), authority: withoutUrn(authority) };
  }

  // Some write a `^` too few; others name the authority without an OID.
  const [id = '', ...components] = plain.split('^');
  const withOid = components.find((component) => component.includes('&'));
  const [namespace = '', oid = ''] = (withOid ?? components[2] ?? '').split(
    '&',
  );

  return {
    id: unescapeHl7(id),
    authority: withoutUrn(oid === '' ? namespace : oid),
  };
}

/**
 * A string literal of a stored query: in apostrophes, with those inside it
 * doubled (ITI TF-2 3.18.4.1.2.3.5).
 */
export function queryLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The values of a stored query's list, `('a','b')`, or its single literal. */
export function readQueryLiterals(text: string): string[] {
  const literals = text.matchAll(/'((?:[^']|'')*)'/g);
  const values = [...literals].map(([, value = '']) =>
    value.replaceAll("''", "'"),
  );

  return values.length === 0 && text.trim() !== ''
    ? [text.trim().replace(/^\((.*)\)$/s, '$1')]
    : values;
}

/** Text without the apostrophes that some gateways leave around an id. */
export function withoutApostrophes(text: string): string {
  const trimmed = text.trim();

  return /^'.*'$/s.test(trimmed)
    ? trimmed.slice(1, -1).replaceAll("''", "'")
    : trimmed;
}

/** The separators of HL7 v2, and how they are written inside a value. */
const HL7_ESCAPES = {
  '\\': '\\E\\',
  '^': '\\S\\',
  '&': '\\T\\',
  '~': '\\R\\',
  '|': '\\F\\',
} as const;

const HL7_CHARACTERS: Readonly<Record<string, string>> = {
  E: '\\',
  S: '^',
  T: '&',
  R: '~',
  F: '|',
};

function unescapeHl7(text: string): string {
  return text.replace(
    /\\([ESTRF])\\/g,
    (_, letter: string) => HL7_CHARACTERS[letter] ?? '',
  );
}
