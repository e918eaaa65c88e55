import {
  emptyText,
  type Lookup,
  measuredThing,
  notUnderstoodNotes,
  type PageOne,
  pageOne,
  type RecordResource,
  type SectionRule,
  STATING_TYPES,
  type SummaryEntry,
  type SummaryPart,
  sectionParts,
  summaryEntry,
  type TableRule,
} from '#record-summary';
import {
  type AbsenceStatement,
  type AbsenceTopic,
  absencesIn,
  canBeOneMoment,
  clinicalTime,
  distinctionsOf,
  isUnderstood,
  type Json,
} from '#record-summary/fhir';
import { counted } from '../../../../lib/counted.ts';
import {
  completenessLines,
  incompleteness,
  type RecordCompleteness,
} from '../../../records/reading/completeness.ts';
import type { PatientRecord } from '../../../records/reading/record-reader.ts';
import { SUPPORTING_TYPES } from '../../../records/rules/resource-types.ts';
import {
  IPS_SECTIONS,
  type IpsSectionRule,
  type IpsSource,
} from './ips-section-rules.ts';
import { narrativeOf } from './narrative.ts';

/** A section of the document, and the resources that are its entries. */
export interface IpsSection {
  json: Json;
  entries: readonly { resourceType: string; id: string }[];
}

/**
 * Takes the resources of one table, newest first by type, and keeps those of
 * the patient summary.
 */
class Collector {
  readonly kept: RecordResource[] = [];
  /** Resources with a modifier extension that is not known here. */
  readonly notUnderstood: Json[] = [];
  leftOut = 0;
  readonly rule: SectionRule;
  readonly table: TableRule;
  /**
   * The time of the latest value of each thing that was measured; sources may
   * differ about the value.
   */
  readonly #latest = new Map<string, string>();
  readonly #keys = new Set<string>();
  private readonly source: IpsSource;

  constructor(source: IpsSource) {
    this.source = source;
    this.rule = source.section;
    this.table = source.table;
  }

  take(resource: RecordResource, entry: SummaryEntry, lookup: Lookup): void {
    const { content } = entry;
    if (
      !this.table.types.includes(resource.resourceType) ||
      this.table.shows?.(content) === false
    )
      return;
    if (!isUnderstood(content)) {
      this.notUnderstood.push(content);
      return;
    }
    const isKept =
      this.source.keeps(entry, this.rule) &&
      this.kept.length < this.source.max &&
      (this.source.isLatest !== true || this.#isLatest(content, lookup)) &&
      this.#isFirst(content, lookup);
    if (isKept) this.kept.push(resource);
    else this.leftOut += 1;
  }

  /** Whether nothing with this key is an entry yet. */
  #isFirst(content: Json, lookup: Lookup): boolean {
    const key = this.source.once?.(content, lookup);
    if (key === undefined) return true;
    const isFirst = !this.#keys.has(key);
    this.#keys.add(key);
    return isFirst;
  }

  #isLatest(content: Json, { linked }: Lookup): boolean {
    const { key } = measuredThing(content, distinctionsOf(content, linked));
    const { sortDate } = clinicalTime(content);
    const latest = this.#latest.get(key) ?? sortDate;
    this.#latest.set(key, latest);
    return canBeOneMoment(latest, sortDate);
  }
}

/** The types that the sections are made of. */
export const SECTION_TYPES: readonly string[] = [
  ...new Set([
    ...IPS_SECTIONS.flatMap(({ from }) =>
      from.flatMap(({ table }) => table.types),
    ),
    ...STATING_TYPES,
  ]),
];

/**
 * The sections of an International Patient Summary: how complete the record is,
 * then the guide's sections, by the rules of the summary of the whole record.
 * Each type is read once.
 */
export async function ipsSections(
  reader: PatientRecord,
  madeAt: Date,
): Promise<IpsSection[]> {
  const planned = IPS_SECTIONS.map((section) => ({
    ...section,
    collectors: section.from.map((source) => new Collector(source)),
  }));
  const collectors = planned.flatMap((section) => section.collectors);
  const stated: Stated[] = [];
  const first = await pageOne(reader, { madeAt });
  const { lookup, statements } = first;
  for await (const resource of reader.read(SECTION_TYPES)) {
    const entry = summaryEntry(resource);
    const absences = absencesIn(entry.content);
    stated.push(...absences.map((statement) => ({ statement, resource })));
    if (absences.length > 0) continue;
    for (const collector of collectors) collector.take(resource, entry, lookup);
  }
  const context = {
    reader,
    stated,
    madeAt,
    lookup,
    statements,
  };
  const sections: IpsSection[] = [
    await overviewSection(reader, first),
    await completenessSection(reader),
  ];
  for (const section of planned) {
    const isEmpty = section.collectors.every(
      ({ kept, notUnderstood }) =>
        kept.length === 0 && notUnderstood.length === 0,
    );
    if (!isEmpty || section.isOptional !== true)
      sections.push(await sectionOf(section, context));
  }
  return sections;
}

interface Stated {
  statement: AbsenceStatement;
  resource: RecordResource;
}
interface Context {
  reader: PatientRecord;
  stated: readonly Stated[];
  madeAt: Date;
  lookup: Lookup;
  statements: PageOne['statements'];
}
type Planned = IpsSectionRule & { collectors: Collector[] };

async function sectionOf(
  section: Planned,
  context: Context,
): Promise<IpsSection> {
  const { reader } = context;
  const rule = section.section;
  const topic =
    section.isOptional === true ? undefined : rule.statements?.topic;
  const kept = section.collectors.flatMap((each) => each.kept);
  const claims = standingClaims(rule, topic, kept, context.stated);
  const entries = [
    ...kept,
    ...claims.flatMap(({ resource }) =>
      isStating(resource) ? [] : [resource],
    ),
  ];
  const notes =
    topic === undefined ? [] : (context.statements.get(rule.id) ?? []);
  const isNoneKnown = claims.some(({ resource }) => isStating(resource));
  const empty = emptyText(section.empty ?? rule.empty, reader.standing);
  const why =
    entries.length > 0
      ? undefined
      : emptyReason(empty, reader.standing, isNoneKnown);
  async function* parts(): AsyncGenerator<SummaryPart> {
    for (const note of notes) yield { kind: 'note', ...note };
    if (why !== undefined && notes.length === 0) yield note(why.text);
    for (const collector of section.collectors)
      yield* tableParts(collector, context);
  }
  return {
    entries,
    json: {
      title: section.title,
      code: {
        coding: [{ system: 'http://loinc.org', code: section.code }],
        text: section.title,
      },
      text: await narrativeOf(parts()),
      ...(why !== undefined && { emptyReason: why }),
    },
  };
}

const isStating = ({ resourceType }: RecordResource): boolean =>
  STATING_TYPES.includes(resourceType);
const note = (text: string): SummaryPart => ({ kind: 'note', text });

/**
 * What sources say is not there at all, unless the record contradicts it. Their
 * own words for it are entries.
 */
function standingClaims(
  { statements }: SectionRule,
  topic: AbsenceTopic | undefined,
  kept: readonly RecordResource[],
  stated: readonly Stated[],
): Stated[] {
  return stated.filter(
    ({ statement, resource }) =>
      statement.topic === topic &&
      !statement.isUnknown &&
      !(isStating(resource) && statement.category !== undefined) &&
      !kept.some((each) => statements?.denies(summaryEntry(each), statement)),
  );
}

async function* tableParts(
  { rule, table: own, kept, leftOut, notUnderstood }: Collector,
  { madeAt, lookup }: Context,
): AsyncGenerator<SummaryPart> {
  async function* read() {
    yield* kept;
  }
  const section = { ...rule, tables: [own] };
  if (kept.length > 0)
    yield* sectionParts(section, {
      reader: { read },
      lookup,
      madeAt,
      statements: new Map(),
    });
  for (const each of notUnderstoodNotes(notUnderstood, lookup))
    yield { kind: 'note', ...each };
  if (leftOut === 0) return;
  const what = counted(leftOut, 'further entry', 'further entries');
  yield note(
    `${own.caption}: ${what} in the whole record (earlier, ended, not done or retracted).`,
  );
}

const EMPTY_REASONS = 'http://terminology.hl7.org/CodeSystem/list-empty-reason';

/**
 * Why a section has no entries: a source says that there is none, nobody was
 * asked, or nothing was delivered.
 */
function emptyReason(
  empty: string,
  standing: RecordCompleteness,
  isNoneKnown: boolean,
) {
  const wasAsked = standing.sources.some(
    ({ state }) => state !== undefined && state !== 'never-asked',
  );
  const answers =
    incompleteness(standing) ?? 'Every source that was queried has answered.';
  const [code, text] = isNoneKnown
    ? [
        standing.withheld ? 'withheld' : 'nilknown',
        emptyText('A source states that there is none.', standing),
      ]
    : wasAsked
      ? ['unavailable', `${empty} ${answers}`]
      : ['notasked', `${empty} No source has been queried.`];
  return { coding: [{ system: EMPTY_REASONS, code }], text };
}

/** A section of ours, which the guide has not; without entries. */
async function ownSection(
  title: string,
  code: string,
  parts: AsyncIterable<SummaryPart>,
): Promise<IpsSection> {
  const coding = [{ system: 'urn:medical-exchange:section', code }];
  return {
    entries: [],
    json: {
      title,
      code: { coding, text: title },
      text: await narrativeOf(parts),
    },
  };
}

/**
 * Page one of the summary, as all doors show it; the sources are in the section
 * that follows.
 */
function overviewSection(
  { standing }: PatientRecord,
  { blocks }: PageOne,
): Promise<IpsSection> {
  async function* parts(): AsyncGenerator<SummaryPart> {
    const alert = incompleteness(standing);
    if (alert !== undefined) yield { kind: 'note', text: alert, tone: 'alert' };
    yield { kind: 'overview', blocks: blocks.slice(0, -1) };
  }
  return ownSection('Overview', 'overview', parts());
}

/** Which sources answered, when, and what is missing. */
async function completenessSection({
  standing,
  counts,
}: PatientRecord): Promise<IpsSection> {
  const others = Object.entries(counts)
    .filter(
      ([type, count]) =>
        count > 0 &&
        type !== 'Patient' &&
        !SUPPORTING_TYPES.has(type) &&
        !SECTION_TYPES.includes(type),
    )
    .map(([type, count]) => `${type} (${count})`);
  async function* parts(): AsyncGenerator<SummaryPart> {
    const alert = incompleteness(standing);
    if (alert !== undefined) yield { kind: 'note', text: alert, tone: 'alert' };
    for (const text of completenessLines(standing)) yield note(text);
    if (others.length > 0)
      yield note(
        `The whole record also has what no section here is for: ${others.join(', ')}.`,
      );
  }
  return ownSection('Sources and completeness', 'completeness', parts());
}
