import { HL7V3 } from './namespaces.ts';
import { type Hl7Time, readHl7Time } from './times.ts';
import { type XmlFragment, xml } from './xml/write-xml.ts';
import {
  attributeOf,
  childrenNamed,
  firstNamed,
  type XmlElement,
  xmlText,
} from './xml/xml-element.ts';

/*
 * The data types of HL7 v3 that XCPD uses, as plain fields. A `nullFlavor` is no
 * value: what has none is left out.
 */

/** HL7 v3's instance identifier (II). */
export interface InstanceId {
  /** An OID or UUID, without `urn:oid:` unless the message has it. */
  root: string;
  extension: string | undefined;
}

export interface PersonNameParts {
  family: string[];
  given: string[];
  prefix: string[];
  suffix: string[];

  /** HL7's uses of a name: L legal, P pseudonym, … */
  use?: string | undefined;

  /** The name as one text, from a sender who does not split it. */
  text?: string | undefined;
}

export interface PostalAddress {
  lines: string[];
  city: string | undefined;
  state: string | undefined;
  zip: string | undefined;
  country: string | undefined;

  /** HL7's uses of an address: HP primary home, WP work place, TMP, BAD, … */
  use?: string | undefined;
}

/** What a message says of a person. */
export interface PersonFacts {
  names: PersonNameParts[];

  /** HL7's administrative gender, as written: F, M, UN. */
  gender: string | undefined;

  birthTime: Hl7Time | undefined;
  addresses: PostalAddress[];

  /** URLs (`tel:`, `mailto:`), as written. */
  telecoms: string[];

  /** Ids of the person by other authorities, such as the SSN. */
  otherIds: InstanceId[];
}

/** The `code` of the child with that name, or at the end of that path. */
export function hl7CodeOf(
  element: XmlElement | undefined,
  ...path: readonly [string, ...string[]]
): string | undefined {
  return attributeOf(firstNamed(element, HL7V3, ...path), 'code');
}

/** The child's `root` at the end of that path. */
export function hl7RootOf(
  element: XmlElement | undefined,
  ...path: readonly [string, ...string[]]
): string | undefined {
  return attributeOf(firstNamed(element, HL7V3, ...path), 'root');
}

/** An instance identifier; undefined if the element has no root. */
export function readInstanceId(
  element: XmlElement | undefined,
): InstanceId | undefined {
  const root = attributeOf(element, 'root');

  return root === undefined
    ? undefined
    : { root, extension: attributeOf(element, 'extension') };
}

export function readInstanceIds(elements: readonly XmlElement[]): InstanceId[] {
  return elements
    .map(readInstanceId)
    .filter((id): id is InstanceId => id !== undefined);
}

/** A person's name (PN); undefined if it has no text at all. */
export function readPersonName(
  element: XmlElement,
): PersonNameParts | undefined {
  const parts = {
    family: hl7TextsOf(element, 'family'),
    given: hl7TextsOf(element, 'given'),
    prefix: hl7TextsOf(element, 'prefix'),
    suffix: hl7TextsOf(element, 'suffix'),
    use: attributeOf(element, 'use'),
  };

  if (parts.family.length > 0 || parts.given.length > 0) return parts;

  const text = xmlText(element);

  return text === undefined ? undefined : { ...parts, text };
}

/** An address (AD); undefined if it has no part. */
export function readAddress(element: XmlElement): PostalAddress | undefined {
  const address = {
    lines: addressLines(element),
    city: hl7TextsOf(element, 'city')[0],
    state: hl7TextsOf(element, 'state')[0],
    zip: hl7TextsOf(element, 'postalCode')[0],
    country: hl7TextsOf(element, 'country')[0],
    use: attributeOf(element, 'use'),
  };

  const { lines, city, state, zip } = address;
  const isBlank =
    lines.length === 0 &&
    [city, state, zip].every((part) => part === undefined);

  if (!isBlank) return address;

  const text = xmlText(element);

  return text === undefined ? undefined : { ...address, lines: [text] };
}

/** The time of a `value` attribute (TS); undefined if there is none. */
export function readTimeOf(
  element: XmlElement | undefined,
): Hl7Time | undefined {
  const value = attributeOf(element, 'value');

  return value === undefined ? undefined : readHl7Time(value);
}

/** The texts of all children of that name that are not blank. */
export function hl7TextsOf(element: XmlElement, name: string): string[] {
  return childrenNamed(element, HL7V3, name)
    .map(xmlText)
    .filter((text) => text !== undefined);
}

/** Street lines as given, or of house number and street. */
function addressLines(element: XmlElement): string[] {
  const lines = hl7TextsOf(element, 'streetAddressLine');

  if (lines.length > 0) return lines;

  const street = [
    ...hl7TextsOf(element, 'houseNumber'),
    ...hl7TextsOf(element, 'streetName'),
  ].join(' ');

  return street === '' ? [] : [street];
}

/** Writes an II as `id`. */
export function writeInstanceId(id: InstanceId): XmlFragment {
  return xml`<id${instanceIdAttributes(id)}/>`;
}

/** An II's attributes, with a space before them. */
export function instanceIdAttributes(id: InstanceId): XmlFragment {
  return id.extension === undefined
    ? xml` root="${id.root}"`
    : xml` root="${id.root}" extension="${id.extension}"`;
}

/** The parts of a name, to be put into a `name` or `value`. */
export function writeNameParts(name: PersonNameParts): XmlFragment {
  const hasParts = name.family.length > 0 || name.given.length > 0;

  if (!hasParts) return xml`${name.text}`;

  return xml`
    ${name.prefix.map((part) => xml`<prefix>${part}</prefix>`)}
    ${name.given.map((part) => xml`<given>${part}</given>`)}
    ${name.family.map((part) => xml`<family>${part}</family>`)}
    ${name.suffix.map((part) => xml`<suffix>${part}</suffix>`)}
  `;
}

/** The parts of an address, to be put into an `addr` or `value`. */
export function writeAddressParts(address: PostalAddress): XmlFragment {
  return xml`
    ${address.lines.map(
      (line) => xml`<streetAddressLine>${line}</streetAddressLine>`,
    )}
    ${address.city && xml`<city>${address.city}</city>`}
    ${address.state && xml`<state>${address.state}</state>`}
    ${address.zip && xml`<postalCode>${address.zip}</postalCode>`}
    ${address.country && xml`<country>${address.country}</country>`}
  `;
}
