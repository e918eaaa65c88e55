import { createHash } from 'node:crypto';
import { isSameId } from '../identifiers.ts';
import {
  EBXML_LCM,
  EBXML_QUERY,
  EBXML_RIM,
  EBXML_RS,
  XDSB,
} from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import { attributeOf, type XmlElement, xmlText } from '../xml/xml-element.ts';

/*
 * The elements of ebXML's registry, which metadata are made of: slots,
 * classifications, identifiers. Gateways mix up its namespaces, so an element of
 * any of them counts.
 */

const REGISTRY_NAMESPACES: ReadonlySet<string> = new Set([
  EBXML_LCM,
  EBXML_QUERY,
  EBXML_RIM,
  EBXML_RS,
  XDSB,
]);

/** A code with its system, as a classification has it. */
export interface Coded {
  code: string;

  /** An OID, a URL, or a name: as written. */
  system: string | undefined;

  display: string | undefined;
}

/** Whether it is an element of ebXML or XDS with that name. */
export function isRegistryElement(element: XmlElement, name: string): boolean {
  return element.name === name && REGISTRY_NAMESPACES.has(element.namespace);
}

/** The children of ebXML or XDS with that name. */
export function registryChildren(
  element: XmlElement | undefined,
  name: string,
): XmlElement[] {
  return (element?.children ?? []).filter((child) =>
    isRegistryElement(child, name),
  );
}

/** The first child of ebXML or XDS with that name. */
export function registryChild(
  element: XmlElement | undefined,
  name: string,
): XmlElement | undefined {
  return element?.children.find((child) => isRegistryElement(child, name));
}

/** The slots of an element by name; several slots of a name are one. */
export function readSlots(element: XmlElement): Map<string, string[]> {
  const slots = new Map<string, string[]>();

  for (const slot of registryChildren(element, 'Slot')) {
    const name = attributeOf(slot, 'name');

    if (name === undefined) continue;

    const values = registryChildren(slot, 'ValueList')
      .flatMap((list) => registryChildren(list, 'Value'))
      .map(xmlText)
      .filter((text) => text !== undefined);

    const known = slots.get(name);

    if (known === undefined) slots.set(name, values);
    else for (const value of values) known.push(value);
  }

  return slots;
}

/** The classifications of a scheme. */
export function classificationsOf(
  element: XmlElement,
  scheme: string,
): XmlElement[] {
  return registryChildren(element, 'Classification').filter((classification) =>
    isSameId(attributeOf(classification, 'classificationScheme') ?? '', scheme),
  );
}

/** The codes of a scheme. */
export function readCodes(element: XmlElement, scheme: string): Coded[] {
  return classificationsOf(element, scheme)
    .map(readCode)
    .filter((code) => code !== undefined);
}

function readCode(classification: XmlElement): Coded | undefined {
  const code = attributeOf(classification, 'nodeRepresentation');

  return code === undefined
    ? undefined
    : {
        code,
        system: readSlots(classification).get('codingScheme')?.[0],
        display: readLocalizedString(classification, 'Name'),
      };
}

/** The value of an identifier of a scheme, as written. */
export function readIdentifier(
  element: XmlElement,
  scheme: string,
): string | undefined {
  const identifier = registryChildren(element, 'ExternalIdentifier').find(
    (each) => isSameId(attributeOf(each, 'identificationScheme') ?? '', scheme),
  );

  return attributeOf(identifier, 'value');
}

/** The text of `Name` or `Description`. */
export function readLocalizedString(
  element: XmlElement,
  name: 'Name' | 'Description',
): string | undefined {
  const text = registryChild(registryChild(element, name), 'LocalizedString');

  return attributeOf(text, 'value');
}

/** A slot; nothing if it has no values. */
export function writeSlot(
  name: string,
  values: readonly (string | undefined)[],
): XmlFragment | undefined {
  const present = values.filter((value) => value !== undefined);

  if (present.length === 0) return undefined;

  return xml`
    <rim:Slot name="${name}">
      <rim:ValueList>
        ${present.map((value) => xml`<rim:Value>${value}</rim:Value>`)}
      </rim:ValueList>
    </rim:Slot>
  `;
}

export function writeLocalizedString(
  name: 'Name' | 'Description',
  text: string | undefined,
): XmlFragment | undefined {
  if (text === undefined) return undefined;

  return name === 'Name'
    ? xml`<rim:Name><rim:LocalizedString value="${text}"/></rim:Name>`
    : xml`<rim:Description><rim:LocalizedString value="${text}"/></rim:Description>`;
}

/** A code as the classification of the object with that id. */
export function writeCode(
  objectId: string,
  scheme: string,
  coded: Coded | undefined,
): XmlFragment | undefined {
  if (coded === undefined) return undefined;

  return xml`
    <rim:Classification
      id="${registryPartId(objectId, scheme, coded.code)}"
      classificationScheme="${scheme}"
      classifiedObject="${objectId}"
      nodeRepresentation="${coded.code}"
      objectType="urn:oasis:names:tc:ebxml-regrep:ObjectType:RegistryObject:Classification">
      ${writeSlot('codingScheme', [coded.system ?? ''])}
      ${writeLocalizedString('Name', coded.display ?? coded.code)}
    </rim:Classification>
  `;
}

/** An identifier of the object with that id. */
export function writeIdentifier(
  objectId: string,
  scheme: string,
  name: string,
  value: string | undefined,
): XmlFragment | undefined {
  if (value === undefined) return undefined;

  return xml`
    <rim:ExternalIdentifier
      id="${registryPartId(objectId, scheme)}"
      registryObject="${objectId}"
      identificationScheme="${scheme}"
      value="${value}"
      objectType="urn:oasis:names:tc:ebxml-regrep:ObjectType:RegistryObject:ExternalIdentifier">
      ${writeLocalizedString('Name', name)}
    </rim:ExternalIdentifier>
  `;
}

/**
 * The id of a part of an object: unique within a message, and the same for the
 * same part, so that a message can be written twice alike.
 */
export function registryPartId(...parts: readonly string[]): string {
  const hash = createHash('sha256').update(parts.join('\n')).digest('hex');
  const groups = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `5${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ];

  return `urn:uuid:${groups.join('-')}`;
}
