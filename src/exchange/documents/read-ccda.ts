import { dayText, momentText, periodText } from '../records/summary/words.ts';
import { readNarrative } from './read-narrative.ts';
import type { Block, HeaderField, ReadableDocument, Section } from './readable-document.ts';
import { elementAt, elementsAt, textWithin, type XmlElement } from './xml-tree.ts';

/** Reads what people see of a CDA document (root `ClinicalDocument`): header and section narratives. */
export function readCcda(root: XmlElement): ReadableDocument {
  const patients = elementsAt(root, 'recordTarget', 'patientRole');
  const names = patients.flatMap((role) => namesOf(elementAt(role, 'patient')));
  const births = patients.flatMap((role) => dayText(isoTime(elementAt(role, 'patient', 'birthTime'))) ?? []);
  return {
    title: textWithin(elementAt(root, 'title')) || codeText(elementAt(root, 'code')) || 'Clinical document',
    patient: names.join(', ') || 'No patient named',
    birthDate: births[0] ?? 'not given',
    facts: [...patients.flatMap(patientFacts), ...documentFacts(root)],
    sections: [
      ...elementsAt(root, 'component', 'structuredBody', 'component', 'section').map(toSection),
      ...elementsAt(root, 'component', 'nonXMLBody', 'text').map(otherBody),
    ],
  };
}

function toSection(section: XmlElement): Section {
  return {
    title: textWithin(elementAt(section, 'title')) || codeText(elementAt(section, 'code')) || 'Section',
    blocks: elementsAt(section, 'text').flatMap(readNarrative),
    sections: elementsAt(section, 'component', 'section').map(toSection),
  };
}

/** A `nonXMLBody`: plain text is shown; for other types a note says that the content is not shown. */
function otherBody(text: XmlElement): Section {
  const type = text.attributes.mediaType ?? 'text/plain';
  const isText = type.startsWith('text/plain');
  const content = textWithin(text);
  const shown =
    isText && text.attributes.representation === 'B64'
      ? Buffer.from(content, 'base64').toString('utf8')
      : content;
  const note = `The content of this document is a file of type ${type}, which cannot be shown here. Download the original document to read it.`;
  const paragraph: Block = { kind: 'paragraph', runs: [{ text: isText ? shown : note }] };
  return { title: 'Content', blocks: [paragraph], sections: [] };
}

function patientFacts(role: XmlElement): HeaderField[] {
  const patient = elementAt(role, 'patient');
  return facts([
    ['Patient', namesOf(patient).join(', ')],
    ['Born', dayText(isoTime(elementAt(patient, 'birthTime'))) ?? ''],
    ['Sex', sexText(elementAt(patient, 'administrativeGenderCode'))],
    ['Address', elementsAt(role, 'addr').map(addressText).filter(isThere).join('; ')],
    ['Phone, e-mail', elementsAt(role, 'telecom').map(telecomText).filter(isThere).join('; ')],
    [
      'Record numbers',
      elementsAt(role, 'id')
        .flatMap(({ attributes }) => attributes.extension ?? [])
        .join(', '),
    ],
  ]);
}

function documentFacts(root: XmlElement): HeaderField[] {
  const custodian = elementAt(root, 'custodian', 'assignedCustodian', 'representedCustodianOrganization');
  const care = elementAt(root, 'documentationOf', 'serviceEvent', 'effectiveTime');
  const visit = elementAt(root, 'componentOf', 'encompassingEncounter', 'effectiveTime');
  return facts([
    ['Kind', codeText(elementAt(root, 'code'))],
    ['Created', momentText(isoTime(elementAt(root, 'effectiveTime'))) ?? ''],
    ['Period of care', periodOf(care)],
    ['Encounter', periodOf(visit)],
    ['Author', elementsAt(root, 'author', 'assignedAuthor').map(authorText).filter(isThere).join('; ')],
    [
      'Custodian',
      [textWithin(elementAt(custodian, 'name')), addressText(elementAt(custodian, 'addr'))]
        .filter(isThere)
        .join(', '),
    ],
  ]);
}

const facts = (pairs: readonly (readonly [string, string])[]): HeaderField[] =>
  pairs.flatMap(([label, value]) => (value === '' ? [] : [{ label, value }]));
const isThere = (text: string): boolean => text !== '';

const namesOf = (person: XmlElement | undefined): string[] =>
  elementsAt(person, 'name').slice(0, 1).map(textWithin).filter(isThere);

function authorText(author: XmlElement): string {
  const person = namesOf(elementAt(author, 'assignedPerson'))[0];
  const device = textWithin(elementAt(author, 'assignedAuthoringDevice', 'softwareName'));
  const organization = textWithin(elementAt(author, 'representedOrganization', 'name'));
  return [person ?? device, organization].filter(isThere).join(', ');
}

function addressText(address: XmlElement | undefined): string {
  const part = (name: string) => elementsAt(address, name).map(textWithin).filter(isThere).join(', ');
  const region = [part('state'), part('postalCode')].filter(isThere).join(' ');
  return [part('streetAddressLine'), part('city'), region, part('country')].filter(isThere).join(', ');
}

const telecomText = ({ attributes }: XmlElement): string =>
  (attributes.value ?? '').replace(/^(?:tel|mailto):/i, '').trim();

function codeText(code: XmlElement | undefined): string {
  return code?.attributes.displayName ?? textWithin(elementAt(code, 'originalText'));
}

function sexText(code: XmlElement | undefined): string {
  const known: Record<string, string> = { M: 'Male', F: 'Female', UN: 'Undifferentiated' };
  const { displayName, code: value = '' } = code?.attributes ?? {};
  return displayName ?? known[value] ?? value;
}

function periodOf(time: XmlElement | undefined): string {
  const [start, end] = ['low', 'high'].map((name) => isoTime(elementAt(time, name)));
  return periodText({ start, end }) ?? dayText(isoTime(time)) ?? '';
}

/** Converts an HL7 time (`YYYYMMDDHHMMSS[.s][±ZZZZ]`) to FHIR's format with the precision given; undefined if invalid. */
function isoTime(time: XmlElement | undefined): string | undefined {
  const match = /^(\d{4})(\d{2})?(\d{2})?(?:(\d{2})(\d{2})?[\d.]*)?(?:([+-]\d{2})(\d{2}))?$/.exec(
    time?.attributes.value?.trim() ?? '',
  );
  if (match === null) return undefined;
  const [, year, month, day, hour, minute = '00', zoneHours, zoneMinutes] = match;
  const date = [year, month, day].filter((part) => part !== undefined).join('-');
  if (hour === undefined) return date;
  return `${date}T${hour}:${minute}${zoneHours === undefined ? '' : `${zoneHours}:${zoneMinutes}`}`;
}
