import { chartsOf } from './charts/chart.ts';
import { Trends } from './charts/trend.ts';
import { CONTEXT_COLUMNS, DAY_COLUMNS } from './column-titles.ts';
import { type AbsenceStatement, absencesIn } from './fhir/absence.ts';
import type { ResourceType } from './fhir/elements.ts';
import { type Json, objectsOf, textOf } from './fhir/json.ts';
import { isUnderstood, marksOf } from './fhir/modifiers.ts';
import {
  conceptText,
  dayText,
  firstDay,
  momentText,
  NO_NAME,
  nameText,
  referenceText,
  unique,
  withUse,
} from './fhir/words.ts';
import { lifeOf, personFacts } from './life.ts';
import { linkedResources } from './linked-resources.ts';
import { rxNormCodes } from './medications.ts';
import {
  NOT_UNDERSTOOD,
  NotUnderstood,
  notUnderstoodText,
} from './not-understood.ts';
import { markedName, withRemarks } from './observation.ts';
import { referencesOf } from './overview/block-rule.ts';
import { overviewOf } from './overview/overview.ts';
import {
  NOTHING,
  type OverviewBlock,
  type SummaryHead,
  type SummaryNote,
  type SummaryPart,
  type SummaryRow,
} from './parts.ts';
import { reasonName } from './problems.ts';
import {
  emptyText,
  type RecordPart,
  type RecordReader,
  type RecordResource,
} from './record.ts';
import {
  idOf,
  type Lookup,
  markFuture,
  ORIGIN,
  type SectionRule,
  type SummaryEntry,
  summaryEntry,
  type TableRule,
} from './section.ts';
import { SECTIONS } from './sections.ts';

/**
 * Types without a section: they are shown with the resources that refer to
 * them.
 */
const SUPPORTING: readonly ResourceType[] = [
  'Medication',
  'Patient',
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'Location',
  'Provenance',
];

/**
 * Summarises a consolidated record, part by part, in bounded memory: it keeps
 * only the names of medications, conditions and reports. Types without a
 * section are listed at the end with their counts.
 */
export async function* summarise(
  reader: RecordReader,
  options: SummaryOptions,
): AsyncGenerator<SummaryPart> {
  const opened = await opening(reader, options);
  const { head, sections, rest } = opened;
  yield { kind: 'head', head };

  const { blocks, context, trends } = await readPageOne(reader, opened);
  yield { kind: 'overview', blocks };

  for (const section of sections) {
    yield { kind: 'section', id: section.id, title: section.title };
    yield* chartParts(chartsOf(trends.of(section.id)));
    yield* sectionParts(section, context);
  }
  if (rest.length === 0) return;
  yield { kind: 'section', id: 'rest', title: REST_TITLE };
  yield {
    kind: 'note',
    text: `The FHIR Bundle of this record (json) also contains: ${rest.map(([type, count]) => `${type} (${count})`).join(', ')}.`,
  };
}

interface SummaryOptions {
  filter?: RecordPart;
  madeAt: Date;
}

/** Page one of a record, and what was read for it. */
export interface PageOne {
  blocks: readonly OverviewBlock[];
  lookup: Lookup;
  /** Statements of absence by section. */
  statements: ReadonlyMap<string, readonly SummaryNote[]>;
}

/**
 * Page one alone, as every summary has it: for doors that show the record in
 * another form.
 */
export async function pageOne(
  reader: RecordReader,
  options: SummaryOptions,
): Promise<PageOne> {
  const opened = await opening(reader, options);
  const { blocks, context } = await readPageOne(reader, opened);
  return {
    blocks,
    lookup: context.lookup,
    statements: context.statements,
  };
}

/** What a summary says before it has read more than the Patient. */
async function opening(
  reader: RecordReader,
  { filter = {}, madeAt }: SummaryOptions,
) {
  const { types } = filter;
  const isWanted = (type: string): boolean =>
    types === undefined || types.includes(type);
  const sections = SECTIONS.flatMap((section) => {
    const tables = section.tables
      .map((table) => ({ ...table, types: table.types.filter(isWanted) }))
      .filter((table) => table.types.length > 0);
    const isDelivered = tables.some((table) =>
      table.types.some((type) => (reader.counts[type] ?? 0) > 0),
    );
    return tables.length === 0 || (section.isOptional && !isDelivered)
      ? []
      : [
          {
            ...section,
            tables,
            empty: emptyText(section.empty, reader),
          },
        ];
  });
  const rest = leftOver(reader.counts);
  const patient = await readRecordPatient(reader);
  const head: SummaryHead = {
    ...headOf(patient, { filter, madeAt, alert: reader.alert }),
    sections: [
      { id: 'overview', title: 'Overview' },
      ...sections.map(({ id, title }) => ({ id, title })),
      ...(rest.length === 0 ? [] : [{ id: 'rest', title: REST_TITLE }]),
    ],
  };
  return { head, patient, sections, rest, isWanted, madeAt };
}

async function readPageOne(
  reader: RecordReader,
  { patient, sections, isWanted, madeAt }: Awaited<ReturnType<typeof opening>>,
) {
  const lookup = await lookUp(reader);
  const statements = new Map<string, readonly SummaryNote[]>();
  for (const section of sections)
    statements.set(
      section.id,
      await absenceNotes(section, reader, isWanted, madeAt),
    );
  const trends = new Trends(lookup.linked);
  const alsoTake = (entry: SummaryEntry) => {
    trends.take(entry);
    const { resourceType, id } = entry.content;
    const name =
      resourceType === 'Condition' ? reasonName(entry.content) : undefined;
    if (name !== undefined) lookup.conditions.set(String(id), name);
  };
  const context = {
    reader,
    lookup,
    madeAt,
    birthDate: textOf(patient.birthDate),
    until: lastDayOf(patient, madeAt),
    sections,
    statements,
    isWanted,
    alsoTake,
  };
  return { blocks: await overviewOf(context), context, trends };
}

/** When the person died, if that is a day before the summary is made. */
function lastDayOf({ deceasedDateTime }: Json, madeAt: Date): Date {
  const died = Date.parse(textOf(deceasedDateTime) ?? '');
  return died < madeAt.getTime() ? new Date(died) : madeAt;
}

const REST_TITLE = 'Not in this summary';

async function readRecordPatient(reader: RecordReader): Promise<Json> {
  for await (const { content } of reader.read(['Patient']))
    return content as unknown as Json;
  return {};
}

function leftOver(counts: RecordReader['counts']): [string, number][] {
  const shown = new Set([
    ...SUPPORTING,
    ...SECTIONS.flatMap(({ tables }) =>
      tables.flatMap(({ types, isPart }) => (isPart ? [] : types)),
    ),
  ]);
  return Object.entries(counts).filter(
    ([type, count]) => count > 0 && !shown.has(type),
  );
}

function* chartParts({
  charts,
  note,
}: ReturnType<typeof chartsOf>): Generator<SummaryPart> {
  if (charts.length > 0) yield { kind: 'charts', charts };
  if (note !== undefined) yield { kind: 'note', text: note };
}

/**
 * A section: its tables, or that it is empty, and the statements of absence.
 */
export async function* sectionParts(
  { id, empty, tables }: SectionRule,
  {
    reader,
    lookup,
    madeAt,
    statements: stated,
  }: Pick<
    Parameters<typeof overviewOf>[0],
    'lookup' | 'madeAt' | 'statements'
  > & {
    reader: Pick<RecordReader, 'read'>;
  },
): AsyncGenerator<SummaryPart> {
  const statements = stated.get(id) ?? [];
  const notUnderstood = new NotUnderstood();
  let isEmpty = true;
  for (const table of tables) {
    let rows = 0;
    let hasBegun = false;
    for await (const each of rowsOf(table, reader, lookup, notUnderstood)) {
      if (isEmptyRow(each, table)) continue;
      if (!hasBegun)
        yield { kind: 'table', caption: table.caption, columns: table.columns };
      hasBegun = true;
      if (each.kind === 'row') rows += 1;
      yield marked(each, table, madeAt);
    }
    if (!hasBegun) continue;
    isEmpty = false;
    yield { kind: 'tableEnd', rows };
  }
  const { rows } = notUnderstood;
  if (rows.length > 0) {
    isEmpty = false;
    yield { kind: 'table', ...NOT_UNDERSTOOD };
    yield* rows;
    yield { kind: 'tableEnd', rows: rows.length };
  }
  if (isEmpty && statements.length === 0) yield { kind: 'note', text: empty };
  for (const statement of statements) yield { kind: 'note', ...statement };
}

const CONTEXT: ReadonlySet<string> = new Set(CONTEXT_COLUMNS);
const DAYS: ReadonlySet<string> = new Set(DAY_COLUMNS);

const marked = (
  each: SummaryRow,
  { columns }: TableRule,
  madeAt: Date,
): SummaryRow =>
  each.kind === 'group'
    ? each
    : {
        kind: 'row',
        cells: each.cells.map((cell, index) =>
          DAYS.has(columns[index]?.title ?? '')
            ? { ...cell, text: markFuture(cell.text, madeAt) }
            : cell,
        ),
      };

/**
 * What the sections of a summary say about one resource, a text for each row:
 * `Test: Glucose; Value: 95; Unit: mg/dL`. Empty for what no section shows.
 */
export async function rowTexts(
  resource: RecordResource,
  lookup: Lookup,
): Promise<string[]> {
  const content = resource.content as unknown as Json;
  if (!isUnderstood(content)) return [notUnderstoodText(content, lookup)];
  const texts: string[] = [];
  const read = async function* (types: readonly string[]) {
    if (types.includes(resource.resourceType)) yield resource;
  };
  for (const table of SECTIONS.flatMap(({ tables }) => tables))
    for await (const each of rowsOf(
      table,
      { read },
      lookup,
      new NotUnderstood(),
    )) {
      if (each.kind === 'group' || isEmptyRow(each, table)) continue;
      const shown = each.cells.flatMap(({ text }, index) => {
        const title = table.columns[index]?.title ?? '';
        return text === NOTHING || title === ORIGIN.title
          ? []
          : [`${title}: ${text}`];
      });
      texts.push(shown.join('; '));
    }
  return texts;
}

const isEmptyRow = (each: SummaryRow, { columns }: TableRule): boolean =>
  each.kind === 'row' &&
  each.cells.every(
    ({ text }, index) =>
      text === NOTHING || CONTEXT.has(columns[index]?.title ?? ''),
  );

async function* rowsOf(
  table: TableRule,
  reader: Pick<RecordReader, 'read'>,
  lookup: Lookup,
  notUnderstood: NotUnderstood,
): AsyncGenerator<SummaryRow> {
  const entries = entriesOf(reader.read(table.types), (entry) =>
    notUnderstood.admits(entry, table, lookup),
  );
  if (table.rows !== undefined) {
    yield* table.rows(entries, lookup);
    return;
  }
  for await (const entry of entries) {
    // Statements of absence are shown as notes, not as rows.
    if (absencesIn(entry.content).length > 0) continue;
    const each = table.row?.(entry, lookup);
    if (each !== undefined) yield withMarks(each, entry, table);
  }
}

/**
 * A row that says what is marked about its resource: what its cells do not say
 * stands beside the name.
 */
function withMarks(
  each: SummaryRow,
  { content }: SummaryEntry,
  { columns }: TableRule,
): SummaryRow {
  const { words } = marksOf(content);
  if (words.length === 0 || each.kind === 'group') return each;
  const said = each.cells.map(({ text }) => text.toLowerCase()).join('; ');
  const unsaid = words.filter((word) => !said.includes(word.toLowerCase()));
  if (unsaid.length === 0) return each;
  const name = columns.findIndex(({ title }) => !CONTEXT.has(title));
  return {
    ...each,
    cells: each.cells.map((cell, index) =>
      index === name ? { ...cell, text: withRemarks(cell.text, unsaid) } : cell,
    ),
  };
}

async function* entriesOf(
  resources: AsyncIterable<RecordResource>,
  admits: (entry: SummaryEntry) => boolean,
): AsyncGenerator<SummaryEntry> {
  for await (const resource of resources) {
    const entry = summaryEntry(resource);
    if (admits(entry)) yield entry;
  }
}

/**
 * What rows need of other resources; names of conditions are added by who reads
 * them.
 */
export async function lookUp(reader: RecordReader) {
  const medicationNames = new Map<string, string>();
  const medicationCodes = new Map<string, readonly string[]>();
  for await (const { id, content } of reader.read(['Medication'])) {
    const medication = content as unknown as Json;
    const name = markedName(medication);
    if (name !== undefined) medicationNames.set(id, name);
    medicationCodes.set(id, rxNormCodes(medication.code));
  }
  const people = new Map<string, string>();
  for await (const { id, content } of reader.read([
    'Organization',
    'Practitioner',
  ])) {
    const { name } = content as unknown as Json;
    const text = textOf(name) ?? nameText(name);
    if (text !== undefined) people.set(id, text);
  }
  const reportPlaces = new Map<string, { name: string; place: number }>();
  for await (const { content } of reader.read(['DiagnosticReport'])) {
    const report = content as unknown as Json;
    const name = markedName(report) ?? textOf(report.conclusion);
    for (const [place, result] of objectsOf(report.result).entries()) {
      const id = idOf(result);
      if (id !== undefined && name !== undefined)
        reportPlaces.set(id, { name, place });
    }
  }
  return {
    medications: medicationNames,
    medicationCodes,
    people,
    reports: reportPlaces,
    conditions: new Map<string, string>(),
    linked: await linkedResources(reader),
  };
}

/**
 * The head of a summary: the patient, which part of the record is shown, and
 * how to read it.
 */
function headOf(
  patient: Json,
  {
    filter,
    madeAt,
    alert,
  }: { filter: RecordPart; madeAt: Date; alert: string | undefined },
): Omit<SummaryHead, 'sections'> {
  const stated: [label: string, value: string | undefined][] = [
    ['Address', addresses(patient)],
    [
      'Contact',
      unique(
        objectsOf(patient.telecom).map(({ value, use }) =>
          withUse(textOf(value) ?? '', use),
        ),
      ).join(', '),
    ],
    ['Emergency contact', contacts(patient)],
    ['Primary care', practitioners(patient)],
    ['Patient id', textOf(patient.id)],
    ['Created', momentText(madeAt.toISOString())],
    ['Contains only', partOf(filter)],
  ];
  const facts = stated.flatMap(([label, value]) =>
    value === undefined || value === '' ? [] : [{ label, value }],
  );
  return {
    title: 'Medical record summary',
    patient: {
      ...lifeOf(patient, madeAt),
      name: nameText(patient.name) ?? NO_NAME,
    },
    facts: [...personFacts(patient, madeAt), ...facts],
    alert,
    notes: NOTES,
  };
}

/** How to read a summary. */
const NOTES = [
  'This summary contains only what the sources have delivered; each line names its origin. Columns without any value are omitted.',
  'Dates and times are as the sources wrote them. Values are shown to five significant digits, in the overview to three. Flags in [brackets] were derived from the reference range; all others were given by the source.',
];

/** Which part of a record a filter leaves; '' if all of it. */
function partOf({ types = [], dateFrom, dateTo }: RecordPart): string {
  const from = dayText(dateFrom);
  const to = dayText(dateTo);
  const period = [from && `from ${from}`, to && `to ${to}`]
    .filter(Boolean)
    .join(' ');
  return [
    types.join(', '),
    period && `entries dated ${period}, and undated ones`,
  ]
    .filter(Boolean)
    .join('; ');
}

/** Whom to call: name, what they are to the patient, and telephone numbers. */
const contacts = (patient: Json): string =>
  unique(
    objectsOf(patient.contact).map(({ name, relationship, telecom }) =>
      unique([
        nameText(name),
        ...objectsOf(relationship).map(conceptText),
        ...objectsOf(telecom).map(({ value }) => textOf(value)),
      ]).join(', '),
    ),
  ).join('; ');

const practitioners = (patient: Json): string =>
  unique(objectsOf(patient.generalPractitioner).map(referenceText)).join('; ');

function addresses(patient: Json): string {
  return unique(
    objectsOf(patient.address).map((address) => {
      const lines = Array.isArray(address.line)
        ? address.line.flatMap((line) => textOf(line) ?? [])
        : [];
      const state = unique([
        textOf(address.state),
        textOf(address.postalCode),
      ]).join(' ');
      const whole = unique([...lines, textOf(address.city), state]).join(', ');
      return withUse(whole, address.use);
    }),
  ).join('; ');
}

/** Types that can state the absence of other types' resources. */
export const STATING_TYPES = ['Composition', 'List'];

/**
 * Notes for the statements of absence that sources made about a section's
 * topic, each with its source and day. A statement that the record contradicts
 * is marked: both are shown, and the reader must find out which is right.
 */
export async function absenceNotes(
  { tables, statements }: SectionRule,
  reader: RecordReader,
  isWanted: (type: string) => boolean,
  madeAt: Date,
): Promise<SummaryNote[]> {
  if (statements === undefined) return [];
  const { topic, denies } = statements;
  const own = tables.flatMap(({ types }) => types);
  const types = [...new Set([...own, ...STATING_TYPES])].filter(
    (type) => isWanted(type) && (reader.counts[type] ?? 0) > 0,
  );
  if (types.length === 0) return [];
  const found = new Map<
    string,
    { statement: AbsenceStatement; of: SummaryEntry[] }
  >();
  for await (const resource of reader.read(types)) {
    const entry = summaryEntry(resource);
    for (const statement of absencesIn(entry.content)) {
      if (statement.topic !== topic) continue;
      const text = markFuture(noteOf(statement, entry), madeAt);
      const others = found.get(text)?.of ?? [];
      found.set(text, { statement, of: [...others, entry] });
    }
  }
  if (found.size === 0) return [];
  const contradicted = new Set<AbsenceStatement>();
  const claims = [...found.values()]
    .map(({ statement }) => statement)
    .filter(({ isUnknown }) => !isUnknown);
  if (claims.length > 0)
    for await (const resource of reader.read(
      own.filter((type) => types.includes(type)),
    )) {
      const entry = summaryEntry(resource);
      if (absencesIn(entry.content).length > 0) continue;
      for (const claim of claims)
        if (denies(entry, claim)) contradicted.add(claim);
    }
  return [...found].map(([text, { statement, of }]) =>
    contradicted.has(statement)
      ? {
          text: `${text} This contradicts the ${topic} listed above.`,
          tone: 'alert',
          of: referencesOf(of),
        }
      : { text, tone: 'stated', of: referencesOf(of) },
  );
}

function noteOf(
  { text, quote }: AbsenceStatement,
  { content, origin }: SummaryEntry,
): string {
  const day =
    firstDay(
      content,
      'recordedDate',
      'dateAsserted',
      'date',
      'onsetDateTime',
      'effectiveDateTime',
    ) ??
    firstDay(
      content,
      'effectivePeriod',
      'onsetPeriod',
      'authoredOn',
      'performedDateTime',
    ) ??
    dayText(content.occurrenceDateTime);
  const words =
    quote === undefined
      ? ''
      : ` The source wrote: “${quote.replace(/\.$/, '')}.”`;
  const when =
    day !== undefined && origin.includes(day) ? '' : `, ${day ?? 'undated'}`;
  return `${text}, stated by ${origin}${when}.${words}`;
}
