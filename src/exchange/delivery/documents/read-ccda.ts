import {
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  elementsIn,
} from '#ccda-to-fhir';
import { deathOf, type HeadFact, type SummaryHead } from '#record-summary';
import { dayText, momentText, periodText } from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';

/**
 * The readable content of a clinical document, rendered as html or pdf. Plain
 * text only, no markup.
 */
export interface ReadableDocument {
  title: string;
  /** For the head of each page. */
  patient: SummaryHead['patient'];
  /** The fields of the document header, in display order. */
  facts: HeadFact[];
  sections: Section[];
}

export interface Section {
  title: string;
  blocks: Block[];
  sections: Section[];
}

export type Block =
  | { kind: 'paragraph'; runs: StyledText[] }
  | { kind: 'list'; ordered: boolean; items: Block[][] }
  | { kind: 'table'; head: DocumentCell[][]; rows: DocumentCell[][] };

/** Text in one style; a line break is `\n`. */
export interface StyledText {
  text: string;
  style?: 'bold' | 'italic' | 'underline';
}

export interface DocumentCell {
  /** Lists and tables within a cell are flattened to lines. */
  runs: StyledText[];
  isHeading: boolean;
  columns: number;
  rows: number;
}

/** The text of runs, without their styles. */
export const runsText = (runs: readonly StyledText[]): string =>
  runs.map(({ text }) => text).join('');

/**
 * Reads what people see of a CDA document (root `ClinicalDocument`): header and
 * section narratives.
 */
export function readCcda(root: CdaElement): ReadableDocument {
  const patients = elementsAt(root, 'recordTarget/patientRole');
  const names = patients.flatMap((role) => namesOf(childOf(role, 'patient')));
  const births = patients.flatMap(
    (role) => dayText(isoTime(elementsAt(role, 'patient/birthTime')[0])) ?? [],
  );
  return {
    title:
      textWithin(childOf(root, 'title')) ||
      codeText(childOf(root, 'code')) ||
      'Clinical document',
    patient: {
      name: names.join(', ') || 'No patient named',
      born: births[0] ?? 'not given',
      died: patients.length > 1 ? undefined : patients.map(deathIn)[0],
    },
    facts: [...patients.flatMap(patientFacts), ...documentFacts(root)],
    sections: [
      ...elementsAt(root, 'component/structuredBody/component/section').map(
        toSection,
      ),
      ...elementsAt(root, 'component/nonXMLBody/text').map(otherBody),
    ],
  };
}

function toSection(section: CdaElement): Section {
  return {
    title:
      textWithin(childOf(section, 'title')) ||
      codeText(childOf(section, 'code')) ||
      'Section',
    blocks: childrenOf(section, 'text').flatMap(({ content }) =>
      blocksOf(content),
    ),
    sections: elementsAt(section, 'component/section').map(toSection),
  };
}

/**
 * A `nonXMLBody`: plain text is shown; for other types a note says that the
 * content is not shown.
 */
function otherBody(text: CdaElement): Section {
  const type = text.attributes.mediaType ?? 'text/plain';
  const isText = type.startsWith('text/plain');
  const content = textWithin(text);
  const shown =
    isText && text.attributes.representation === 'B64'
      ? Buffer.from(content, 'base64').toString('utf8')
      : content;
  const note = `The content of this document is a file of type ${type}, which cannot be shown here. Download the original document to read it.`;
  const paragraph: Block = {
    kind: 'paragraph',
    runs: [{ text: isText ? shown : note }],
  };
  return { title: 'Content', blocks: [paragraph], sections: [] };
}

function patientFacts(role: CdaElement): HeadFact[] {
  const patient = childOf(role, 'patient');
  const died = deathIn(role);
  return facts([
    ['Patient', namesOf(patient).join(', ')],
    ['Born', dayText(isoTime(childOf(patient, 'birthTime'))) ?? ''],
    ['Died', died ?? '', 'alert'],
    ['Sex', sexText(childOf(patient, 'administrativeGenderCode'))],
    [
      'Address',
      childrenOf(role, 'addr').map(addressText).filter(isThere).join('; '),
    ],
    [
      'Phone, e-mail',
      childrenOf(role, 'telecom').map(telecomText).filter(isThere).join('; '),
    ],
    [
      'Record numbers',
      childrenOf(role, 'id')
        .flatMap(({ attributes }) => attributes.extension ?? [])
        .join(', '),
    ],
  ]);
}

/** What a document's header says of the patient's death (SDTC extension). */
function deathIn(role: CdaElement): string | undefined {
  const patient = childOf(role, 'patient');
  const deceased = childOf(patient, 'deceasedInd')?.attributes.value;
  return deathOf({
    birthDate: isoTime(childOf(patient, 'birthTime')),
    deceasedBoolean: deceased === 'true',
    deceasedDateTime: isoTime(childOf(patient, 'deceasedTime')),
  });
}

function documentFacts(root: CdaElement): HeadFact[] {
  const custodian = elementsAt(
    root,
    'custodian/assignedCustodian/representedCustodianOrganization',
  )[0];
  const care = elementsAt(
    root,
    'documentationOf/serviceEvent/effectiveTime',
  )[0];
  const visit = elementsAt(
    root,
    'componentOf/encompassingEncounter/effectiveTime',
  )[0];
  return facts([
    ['Kind', codeText(childOf(root, 'code'))],
    ['Created', momentText(isoTime(childOf(root, 'effectiveTime'))) ?? ''],
    ['Period of care', periodOf(care)],
    ['Encounter', periodOf(visit)],
    [
      'Author',
      elementsAt(root, 'author/assignedAuthor')
        .map(authorText)
        .filter(isThere)
        .join('; '),
    ],
    [
      'Custodian',
      [
        textWithin(childOf(custodian, 'name')),
        addressText(childOf(custodian, 'addr')),
      ]
        .filter(isThere)
        .join(', '),
    ],
  ]);
}

type Stated = readonly [label: string, value: string, tone?: 'alert'];

const facts = (stated: readonly Stated[]): HeadFact[] =>
  stated.flatMap(([label, value, tone]) =>
    value === '' ? [] : [{ label, value, ...(tone !== undefined && { tone }) }],
  );
const isThere = (text: string): boolean => text !== '';

const namesOf = (person: CdaElement | undefined): string[] =>
  childrenOf(person, 'name').slice(0, 1).map(textWithin).filter(isThere);

function authorText(author: CdaElement): string {
  const person = namesOf(childOf(author, 'assignedPerson'))[0];
  const device = textWithin(
    elementsAt(author, 'assignedAuthoringDevice/softwareName')[0],
  );
  const organization = textWithin(
    elementsAt(author, 'representedOrganization/name')[0],
  );
  return [person ?? device, organization].filter(isThere).join(', ');
}

function addressText(address: CdaElement | undefined): string {
  const part = (name: string) =>
    childrenOf(address, name).map(textWithin).filter(isThere).join(', ');
  const region = [part('state'), part('postalCode')].filter(isThere).join(' ');
  return [part('streetAddressLine'), part('city'), region, part('country')]
    .filter(isThere)
    .join(', ');
}

const telecomText = ({ attributes }: CdaElement): string =>
  (attributes.value ?? '').replace(/^(?:tel|mailto):/i, '').trim();

function codeText(code: CdaElement | undefined): string {
  return (
    code?.attributes.displayName ?? textWithin(childOf(code, 'originalText'))
  );
}

function sexText(code: CdaElement | undefined): string {
  const known: Record<string, string> = lookupTable({
    M: 'Male',
    F: 'Female',
    UN: 'Undifferentiated',
  });
  const { displayName, code: value = '' } = code?.attributes ?? {};
  return displayName ?? known[value] ?? value;
}

function periodOf(time: CdaElement | undefined): string {
  const start = isoTime(childOf(time, 'low'));
  const end = isoTime(childOf(time, 'high'));
  return periodText({ start, end }) ?? dayText(isoTime(time)) ?? '';
}

/**
 * Converts an HL7 time (`YYYYMMDDHHMMSS[.s][±ZZZZ]`) to FHIR's format with the
 * precision given; undefined if invalid.
 */
function isoTime(time: CdaElement | undefined): string | undefined {
  const match =
    /^(\d{4})(\d{2})?(\d{2})?(?:(\d{2})(\d{2})?[\d.]*)?(?:([+-]\d{2})(\d{2}))?$/.exec(
      time?.attributes.value?.trim() ?? '',
    );
  if (match === null) return undefined;
  const [, year, month, day, hour, minute = '00', zoneHours, zoneMinutes] =
    match;
  const date = [year, month, day]
    .filter((part) => part !== undefined)
    .join('-');
  if (hour === undefined) return date;
  return `${date}T${hour}:${minute}${zoneHours === undefined ? '' : `${zoneHours}:${zoneMinutes}`}`;
}

/** All text in an element, with white space collapsed to single spaces. */
function textWithin(element: CdaElement | undefined): string {
  const whole = (part: CdaElement | string): string =>
    typeof part === 'string' ? part : part.content.map(whole).join(' ');
  return element === undefined
    ? ''
    : whole(element).replaceAll(/\s+/g, ' ').trim();
}

type Part = CdaElement | string;
const isElement = (part: Part): part is CdaElement => typeof part !== 'string';

/** Limit for colspan and rowspan; more than fits on any page. */
const SPAN_MAX = 50;
const NOT_SHOWN = 'Image or other media, not shown here';

/**
 * Converts the narrative of a section (CDA R2, StrucDoc.Text) to blocks. Links,
 * style sheets and media are dropped; the text of unknown elements is kept, so
 * that no text is lost.
 */
function blocksOf(nodes: readonly Part[]): Block[] {
  const blocks: Block[] = [];
  let loose: StyledText[] = [];
  const endParagraph = () => {
    const runs = tidy(loose);
    if (runs.length > 0) blocks.push({ kind: 'paragraph', runs });
    loose = [];
  };
  for (const node of nodes) {
    const own = isElement(node) ? blockOf(node) : undefined;
    if (own === undefined) loose.push(...runsOf(node));
    else {
      endParagraph();
      blocks.push(...own);
    }
  }
  endParagraph();
  return blocks;
}

/** Undefined for inline elements. */
function blockOf(element: CdaElement): Block[] | undefined {
  switch (element.name) {
    case 'paragraph':
      return blocksOf(element.content);
    case 'caption':
      return [
        { kind: 'paragraph' as const, runs: tidy(runsWithin(element, 'bold')) },
      ].filter(hasText);
    case 'list':
      return listOf(element);
    case 'table':
      return tableOf(element);
    default:
      return holdsBlocks(element) ? blocksOf(element.content) : undefined;
  }
}

const BLOCKS = new Set(['paragraph', 'list', 'table']);
const holdsBlocks = (element: CdaElement): boolean =>
  elementsIn(element).some(
    (child) => BLOCKS.has(child.name) || holdsBlocks(child),
  );
const hasText = ({ runs }: { runs: StyledText[] }): boolean => runs.length > 0;

function listOf(list: CdaElement): Block[] {
  const items = elementsIn(list)
    .filter(({ name }) => name === 'item')
    .map((item) => blocksOf(item.content))
    .filter((blocks) => blocks.length > 0);
  const rest = blocksOf(
    list.content.filter((node) => !(isElement(node) && node.name === 'item')),
  );
  const ordered = list.attributes.listType === 'ordered';
  return items.length === 0
    ? rest
    : [...rest, { kind: 'list', ordered, items }];
}

function tableOf(table: CdaElement): Block[] {
  const head: DocumentCell[][] = [];
  const rows: DocumentCell[][] = [];
  const rest: Part[] = [];
  for (const part of table.content) {
    if (!isElement(part)) rest.push(part);
    else if (part.name === 'tr') rows.push(cellsOf(part));
    else if (part.name === 'thead') head.push(...elementsIn(part).map(cellsOf));
    else if (part.name === 'tbody' || part.name === 'tfoot')
      rows.push(...elementsIn(part).map(cellsOf));
    else if (part.name !== 'col' && part.name !== 'colgroup') rest.push(part);
  }
  const isFilled = (cells: DocumentCell[]) => cells.some(hasText);
  // A table with a head but no rows is kept: no text may be lost.
  const block: Block = {
    kind: 'table',
    head: head.filter(isFilled),
    rows: rows.filter(isFilled),
  };
  return [
    ...blocksOf(rest),
    ...(block.head.length + block.rows.length === 0 ? [] : [block]),
  ];
}

function cellsOf(row: CdaElement): DocumentCell[] {
  return elementsIn(row)
    .filter(({ name }) => name === 'td' || name === 'th')
    .map((cell) => ({
      runs: readable(tidy(linesOf(blocksOf(cell.content)))),
      isHeading: cell.name === 'th',
      columns: span(cell.attributes.colspan),
      rows: span(cell.attributes.rowspan),
    }));
}

const readable = (runs: StyledText[]): StyledText[] =>
  runs.length === 1
    ? runs.map((run) => ({ ...run, text: readableText(run.text) }))
    : runs;

function span(text: string | undefined): number {
  const value = Number(text ?? 1);
  return Number.isInteger(value) && value >= 1 ? Math.min(value, SPAN_MAX) : 1;
}

/** Flattens blocks to lines, because a cell cannot contain blocks. */
const linesOf = (blocks: readonly Block[]): StyledText[] =>
  blocks.flatMap(linesOfBlock);

function linesOfBlock(block: Block): StyledText[] {
  switch (block.kind) {
    case 'paragraph':
      return [...block.runs, NEW_LINE];
    case 'list':
      return block.items.flatMap((item, index) => [
        { text: block.ordered ? `${index + 1}. ` : '• ' },
        ...linesOf(item),
      ]);
    case 'table':
      return [...block.head, ...block.rows].flatMap((cells) => [
        ...cells.flatMap(({ runs }, index) =>
          index === 0 ? runs : [{ text: ' | ' }, ...runs],
        ),
        NEW_LINE,
      ]);
  }
}

const NEW_LINE: StyledText = { text: '\n' };

function runsOf(node: Part, style?: StyledText['style']): StyledText[] {
  if (!isElement(node)) return [{ text: node.replaceAll(/\s+/g, ' '), style }];
  switch (node.name) {
    case 'br':
      return [NEW_LINE];
    case 'renderMultiMedia':
    case 'observationMedia':
      return [
        ...runsWithin(node, style),
        { text: ` [${NOT_SHOWN}] `, style: 'italic' },
      ];
    case 'footnote':
      return [{ text: ' (' }, ...runsWithin(node, style), { text: ')' }];
    case 'content':
      return runsWithin(node, styleOf(node.attributes.styleCode) ?? style);
    default:
      return runsWithin(node, style);
  }
}

const runsWithin = (
  element: CdaElement,
  style?: StyledText['style'],
): StyledText[] => element.content.flatMap((child) => runsOf(child, style));

/**
 * Only HL7's own style codes; those of a sender's style sheet are unknown to
 * us.
 */
function styleOf(codes: string | undefined): StyledText['style'] | undefined {
  const known = {
    Bold: 'bold',
    Italics: 'italic',
    Underline: 'underline',
  } as const;
  for (const code of codes?.split(/\s+/) ?? []) {
    if (Object.hasOwn(known, code)) return known[code as keyof typeof known];
  }
  return undefined;
}

/**
 * Joins runs of the same style, collapses spaces, and removes empty lines at
 * both ends.
 */
function tidy(runs: readonly StyledText[]): StyledText[] {
  const joined: StyledText[] = [];
  let before = '\n';
  for (const { text, style } of runs) {
    const isAtStart = before.endsWith('\n') || before.endsWith(' ');
    const own = isAtStart && text !== '\n' ? text.replace(/^ +/, '') : text;
    if (own === '') continue;
    before = own;
    const last = joined.at(-1);
    if (last !== undefined && (last.style === style || own.trim() === ''))
      last.text += own;
    else
      joined.push(style === undefined ? { text: own } : { text: own, style });
  }
  return trimmed(joined);
}

function trimmed(runs: StyledText[]): StyledText[] {
  const [first] = runs;
  if (first !== undefined) first.text = first.text.trimStart();
  for (let last = runs.at(-1); last !== undefined; last = runs.at(-1)) {
    last.text = last.text.trimEnd();
    if (last.text !== '') break;
    runs.pop();
  }
  return runs[0]?.text === '' ? trimmed(runs.slice(1)) : runs;
}

const CODE_SYSTEMS: Readonly<Record<string, string>> = lookupTable({
  'http://snomed.info/sct': 'SNOMED CT',
  'http://loinc.org': 'LOINC',
  'http://www.nlm.nih.gov/research/umls/rxnorm': 'RxNorm',
  'http://hl7.org/fhir/sid/cvx': 'CVX',
  'http://hl7.org/fhir/sid/icd-10-cm': 'ICD-10-CM',
  'http://hl7.org/fhir/sid/icd-10': 'ICD-10',
  'http://hl7.org/fhir/sid/icd-9-cm': 'ICD-9-CM',
  'http://hl7.org/fhir/sid/ndc': 'NDC',
  'http://www.ama-assn.org/go/cpt': 'CPT',
  'http://unitsofmeasure.org': 'UCUM',
});

/**
 * A date with a time; plain digits only with a time zone, because without one
 * they may be an identifier.
 */
const TIME =
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?$/;
const HL7_TIME =
  /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(?:\d{2}(?:\.\d+)?)?([+-]\d{2})(\d{2})$/;
const CODE = /^(https?:\/\/[^\s|]+?)\/?[\s|]+(\S{1,40})$/;

/**
 * A text that is only a time or only a code, as a person writes it: `15 Mar
 * 2021, 15:45 UTC`, `SNOMED CT 410620009`. Other texts are unchanged.
 */
function readableText(text: string): string {
  const plain = text.trim();
  const time = TIME.test(plain)
    ? plain
    : plain.replace(HL7_TIME, '$1-$2-$3T$4:$5$6:$7');
  if (TIME.test(time)) return isTime(time) ? (momentText(time) ?? text) : text;
  const [, system = '', code = ''] = CODE.exec(plain) ?? [];
  const name = CODE_SYSTEMS[system];
  return name === undefined ? text : `${name} ${code}`;
}

/**
 * Texts of foreign documents may look like a time and be none, such as the 99th
 * of a month.
 */
const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));
