import { type CdaElement, childOf, childrenOf, select } from '../../records/conversion/ccda/element.ts';
import { dayText, momentText, periodText } from '../../records/rules/words.ts';
import { readNarrative } from './read-narrative.ts';
import type { Block, HeaderField, ReadableDocument, Section } from './readable-document.ts';

/** Reads what people see of a CDA document (root `ClinicalDocument`): header and section narratives. */
export function readCcda(root: CdaElement): ReadableDocument {
  const patients = select(root, 'recordTarget/patientRole');
  const names = patients.flatMap((role) => namesOf(childOf(role, 'patient')));
  const births = patients.flatMap((role) => dayText(isoTime(select(role, 'patient/birthTime')[0])) ?? []);
  return {
    title: textWithin(childOf(root, 'title')) || codeText(childOf(root, 'code')) || 'Clinical document',
    patient: names.join(', ') || 'No patient named',
    birthDate: births[0] ?? 'not given',
    facts: [...patients.flatMap(patientFacts), ...documentFacts(root)],
    sections: [
      ...select(root, 'component/structuredBody/component/section').map(toSection),
      ...select(root, 'component/nonXMLBody/text').map(otherBody),
    ],
  };
}

function toSection(section: CdaElement): Section {
  return {
    title: textWithin(childOf(section, 'title')) || codeText(childOf(section, 'code')) || 'Section',
    blocks: childrenOf(section, 'text').flatMap(readNarrative),
    sections: select(section, 'component/section').map(toSection),
  };
}

/** A `nonXMLBody`: plain text is shown; for other types a note says that the content is not shown. */
function otherBody(text: CdaElement): Section {
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

function patientFacts(role: CdaElement): HeaderField[] {
  const patient = childOf(role, 'patient');
  return facts([
    ['Patient', namesOf(patient).join(', ')],
    ['Born', dayText(isoTime(childOf(patient, 'birthTime'))) ?? ''],
    ['Sex', sexText(childOf(patient, 'administrativeGenderCode'))],
    ['Address', childrenOf(role, 'addr').map(addressText).filter(isThere).join('; ')],
    ['Phone, e-mail', childrenOf(role, 'telecom').map(telecomText).filter(isThere).join('; ')],
    [
      'Record numbers',
      childrenOf(role, 'id')
        .flatMap(({ attributes }) => attributes.extension ?? [])
        .join(', '),
    ],
  ]);
}

function documentFacts(root: CdaElement): HeaderField[] {
  const custodian = select(root, 'custodian/assignedCustodian/representedCustodianOrganization')[0];
  const care = select(root, 'documentationOf/serviceEvent/effectiveTime')[0];
  const visit = select(root, 'componentOf/encompassingEncounter/effectiveTime')[0];
  return facts([
    ['Kind', codeText(childOf(root, 'code'))],
    ['Created', momentText(isoTime(childOf(root, 'effectiveTime'))) ?? ''],
    ['Period of care', periodOf(care)],
    ['Encounter', periodOf(visit)],
    ['Author', select(root, 'author/assignedAuthor').map(authorText).filter(isThere).join('; ')],
    [
      'Custodian',
      [textWithin(childOf(custodian, 'name')), addressText(childOf(custodian, 'addr'))]
        .filter(isThere)
        .join(', '),
    ],
  ]);
}

const facts = (pairs: readonly (readonly [string, string])[]): HeaderField[] =>
  pairs.flatMap(([label, value]) => (value === '' ? [] : [{ label, value }]));
const isThere = (text: string): boolean => text !== '';

const namesOf = (person: CdaElement | undefined): string[] =>
  childrenOf(person, 'name').slice(0, 1).map(textWithin).filter(isThere);

function authorText(author: CdaElement): string {
  const person = namesOf(childOf(author, 'assignedPerson'))[0];
  const device = textWithin(select(author, 'assignedAuthoringDevice/softwareName')[0]);
  const organization = textWithin(select(author, 'representedOrganization/name')[0]);
  return [person ?? device, organization].filter(isThere).join(', ');
}

function addressText(address: CdaElement | undefined): string {
  const part = (name: string) => childrenOf(address, name).map(textWithin).filter(isThere).join(', ');
  const region = [part('state'), part('postalCode')].filter(isThere).join(' ');
  return [part('streetAddressLine'), part('city'), region, part('country')].filter(isThere).join(', ');
}

const telecomText = ({ attributes }: CdaElement): string =>
  (attributes.value ?? '').replace(/^(?:tel|mailto):/i, '').trim();

function codeText(code: CdaElement | undefined): string {
  return code?.attributes.displayName ?? textWithin(childOf(code, 'originalText'));
}

function sexText(code: CdaElement | undefined): string {
  const known: Record<string, string> = { M: 'Male', F: 'Female', UN: 'Undifferentiated' };
  const { displayName, code: value = '' } = code?.attributes ?? {};
  return displayName ?? known[value] ?? value;
}

function periodOf(time: CdaElement | undefined): string {
  const [start, end] = ['low', 'high'].map((name) => isoTime(childOf(time, name)));
  return periodText({ start, end }) ?? dayText(isoTime(time)) ?? '';
}

/** Converts an HL7 time (`YYYYMMDDHHMMSS[.s][±ZZZZ]`) to FHIR's format with the precision given; undefined if invalid. */
function isoTime(time: CdaElement | undefined): string | undefined {
  const match = /^(\d{4})(\d{2})?(\d{2})?(?:(\d{2})(\d{2})?[\d.]*)?(?:([+-]\d{2})(\d{2}))?$/.exec(
    time?.attributes.value?.trim() ?? '',
  );
  if (match === null) return undefined;
  const [, year, month, day, hour, minute = '00', zoneHours, zoneMinutes] = match;
  const date = [year, month, day].filter((part) => part !== undefined).join('-');
  if (hour === undefined) return date;
  return `${date}T${hour}:${minute}${zoneHours === undefined ? '' : `${zoneHours}:${zoneMinutes}`}`;
}

/** All text in an element, with white space collapsed to single spaces. */
function textWithin(element: CdaElement | undefined): string {
  const whole = (part: CdaElement | string): string =>
    typeof part === 'string' ? part : part.content.map(whole).join(' ');
  return element === undefined ? '' : whole(element).replaceAll(/\s+/g, ' ').trim();
}
