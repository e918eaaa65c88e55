import { absencesIn } from '../fhir/absence.ts';
import type { Json } from '../fhir/json.ts';
import { marksOf } from '../fhir/modifiers.ts';
import { unique } from '../fhir/words.ts';
import { notUnderstoodNotes } from '../not-understood.ts';
import type { OverviewBlock, OverviewItem, SummaryNote } from '../parts.ts';
import { emptyText, type RecordReader } from '../record.ts';
import {
  type Lookup,
  markFuture,
  type SectionRule,
  type SummaryEntry,
  summaryEntry,
} from '../section.ts';
import { SECTION } from '../sections.ts';
import { collectDirectives, collectFlags } from './alert-blocks.ts';
import type { BlockCollector, BlockRule } from './block-rule.ts';
import { collectEncounters, collectProcedures } from './events-blocks.ts';
import {
  collectAllergies,
  collectCareTeam,
  collectImmunizations,
  collectProblems,
} from './health-blocks.ts';
import { collectVitals } from './measurement.ts';
import { collectMedications } from './medications-block.ts';
import { collectPerson, collectRisks } from './person-blocks.ts';
import { collectResults } from './results-block.ts';

const BLOCKS: readonly BlockRule[] = [
  {
    section: SECTION.alerts,
    title: 'Alerts',
    types: ['Flag'],
    itemsMax: 20,
    item: ['further alert', 'further alerts'],
    isOptional: true,
    collect: collectFlags,
  },
  {
    section: SECTION.carePlans,
    title: 'Advance directives',
    types: ['Observation', 'ServiceRequest', 'Consent'],
    itemsMax: 12,
    item: ['further directive', 'further directives'],
    isOptional: true,
    collect: collectDirectives,
  },
  {
    section: SECTION.allergies,
    title: 'Allergies and intolerances',
    types: ['AllergyIntolerance'],
    itemsMax: 40,
    item: ['allergy', 'allergies'],
    collect: collectAllergies,
  },
  {
    section: SECTION.problems,
    title: 'Active problems',
    types: ['Condition', 'Procedure'],
    itemsMax: 20,
    item: ['active problem', 'active problems'],
    collect: collectProblems,
  },
  {
    section: SECTION.medications,
    title: 'Current medications',
    types: [
      'MedicationRequest',
      'MedicationStatement',
      'MedicationDispense',
      'MedicationAdministration',
    ],
    itemsMax: 30,
    item: ['current medication', 'current medications'],
    collect: collectMedications,
  },
  {
    section: SECTION.vitalSigns,
    title: 'Last vital signs',
    types: ['Observation'],
    itemsMax: 14,
    item: ['further vital sign', 'further vital signs'],
    collect: collectVitals,
  },
  {
    section: SECTION.results,
    title: 'Latest results',
    types: ['Observation'],
    itemsMax: 30,
    item: ['further test', 'further tests'],
    collect: collectResults,
  },
  {
    section: SECTION.procedures,
    title: 'Major procedures',
    types: ['Procedure'],
    itemsMax: 8,
    item: ['further major procedure', 'further major procedures'],
    collect: collectProcedures,
  },
  {
    section: SECTION.encounters,
    title: 'Encounters: stays and emergencies first',
    types: ['Encounter'],
    itemsMax: 8,
    item: ['earlier encounter', 'earlier encounters'],
    collect: collectEncounters,
  },
  {
    section: SECTION.observations,
    title: 'Smoking, habits and high risk scores',
    types: ['Observation', 'RiskAssessment'],
    empty:
      'The sources have delivered no statement on smoking and no risk score.',
    itemsMax: 12,
    item: ['further statement', 'further statements'],
    collect: collectRisks,
  },
  {
    section: SECTION.immunizations,
    title: 'Immunizations',
    types: ['Immunization'],
    itemsMax: 30,
    item: ['further vaccine', 'further vaccines'],
    collect: collectImmunizations,
  },
  {
    section: SECTION.background,
    title: 'Person and coverage',
    types: [
      'Patient',
      'Coverage',
      'ExplanationOfBenefit',
      'Claim',
      'MedicationDispense',
      'MedicationRequest',
    ],
    empty:
      'The sources have delivered no race, ethnicity, language, coverage or pharmacy.',
    itemsMax: 8,
    item: ['further coverage', 'further coverages'],
    collect: collectPerson,
  },
  {
    section: SECTION.carePlans,
    title: 'Care team',
    types: ['CareTeam', 'Patient'],
    empty: 'The sources have delivered no care team.',
    itemsMax: 12,
    item: ['member of a care team', 'members of care teams'],
    collect: collectCareTeam,
  },
];

/** What is marked about the resources that the overview is made of. */
class MarkedResources {
  readonly #words = new Map<string, readonly string[]>();
  readonly #notUnderstood: Json[] = [];

  /** Notes what is marked; true for what is not understood. */
  isLeftOut(content: Json): boolean {
    const { words, notUnderstood } = marksOf(content);
    // Results and measurements say it of each of their values.
    if (words.length > 0 && content.resourceType !== 'Observation')
      this.#words.set(nameOf(content), words);
    if (notUnderstood.length === 0 || content.resourceType === 'Patient')
      return false;
    this.#notUnderstood.push(content);
    return true;
  }

  /** Of the resources of a section, those that are not understood. */
  notUnderstoodOf({ tables }: SectionRule): Json[] {
    return this.#notUnderstood.filter((content) =>
      tables.some(
        ({ types, shows }) =>
          types.includes(String(content.resourceType)) &&
          shows?.(content) !== false,
      ),
    );
  }

  /** An item that says what is marked about what it was made of. */
  told(item: OverviewItem): OverviewItem {
    if (this.#words.size === 0) return item;
    const said = `${item.text}; ${item.detail}`.toLowerCase();
    const unsaid = unique(
      item.of.flatMap((each) => this.#words.get(nameOf(each)) ?? []),
    ).filter((word) => !said.includes(word.toLowerCase()));
    return unsaid.length === 0
      ? item
      : { ...item, detail: unique([...unsaid, item.detail]).join('; ') };
  }
}

const nameOf = ({ resourceType, id }: Json): string =>
  `${String(resourceType)}/${String(id)}`;

/** Longer texts are cut here, visibly; the sections show them in full. */
const TEXT_MAX = 200;
/** As many resources are named for an item. */
const RESOURCES_MAX = 5;

/**
 * The first page of a summary: what a reader needs first. Hides nothing: what
 * it leaves out is counted, with the section that shows it, and no data is told
 * from data that says there is none.
 */
export async function overviewOf(context: {
  reader: RecordReader;
  lookup: Lookup;
  madeAt: Date;
  birthDate: string | undefined;
  until: Date;
  sections: readonly SectionRule[];
  /** Statements of absence by section. */
  statements: ReadonlyMap<string, readonly SummaryNote[]>;
  isWanted: (type: string) => boolean;
  /**
   * Receives each resource that is read, for what else is made of the same
   * data.
   */
  alsoTake: (entry: SummaryEntry) => void;
}): Promise<OverviewBlock[]> {
  const { reader, lookup, madeAt, sections, statements, isWanted, alsoTake } =
    context;
  const made = BLOCKS.flatMap((rule) => {
    const section = sections.find(({ id }) => id === rule.section.id);
    if (section === undefined) return [];
    const empty =
      rule.empty === undefined ? section.empty : emptyText(rule.empty, reader);
    return [
      {
        rule: { ...rule, empty },
        section,
        takes: new Set<string>(rule.types),
        collector: rule.collect(context, rule.itemsMax),
      },
    ];
  });
  const types = new Set(
    made.flatMap(({ rule }) => rule.types).filter(isWanted),
  );
  const marked = new MarkedResources();
  for await (const resource of reader.read([...types])) {
    const content = resource.content as unknown as Json;
    if (marked.isLeftOut(content)) continue;
    const entry = summaryEntry(resource);
    // Statements of absence are shown as notes.
    if (absencesIn(entry.content).length > 0) continue;
    alsoTake(entry);
    for (const { takes, collector } of made)
      if (takes.has(resource.resourceType)) collector.take(entry);
  }
  return [
    ...made.flatMap(({ rule, section, collector }) => {
      const block = blockOf(
        rule,
        section,
        collector,
        [
          ...(statements.get(section.id) ?? []),
          ...notUnderstoodNotes(marked.notUnderstoodOf(section), lookup),
        ],
        { madeAt, marked },
      );
      return rule.isOptional && hasNothing(block) ? [] : [block];
    }),
    ...sourcesBlock(reader),
  ];
}

const hasNothing = ({ items, rest }: OverviewBlock): boolean =>
  items.length === 0 && rest === undefined;

const sourcesBlock = ({ sourceLines }: RecordReader): OverviewBlock[] =>
  sourceLines === undefined
    ? []
    : [
        {
          title: 'Sources and completeness',
          items: [],
          notes: sourceLines.map((text) => ({ text })),
        },
      ];

function blockOf(
  rule: BlockRule,
  section: SectionRule,
  collector: BlockCollector,
  statements: readonly SummaryNote[],
  { madeAt, marked }: { madeAt: Date; marked: MarkedResources },
): OverviewBlock {
  const { items, day, none, remarks = [], others } = collector.collected();
  const [one, many] = rule.item;
  if (items.length > rule.itemsMax)
    others.add(one, many, items.length - rule.itemsMax);
  const empty = none ?? (statements.length === 0 ? rule.empty : undefined);
  const notes = [
    ...(items.length === 0 && empty !== undefined ? [empty] : []),
    ...remarks,
  ];
  return {
    title:
      day === undefined
        ? rule.title
        : markFuture(`${rule.title}, ${day}`, madeAt),
    items: items
      .slice(0, rule.itemsMax)
      .map((item) => clipped(marked.told(item), madeAt)),
    notes: [
      ...statements,
      ...notes.map((text) => ({ text: markFuture(text, madeAt) })),
    ],
    ...(!others.isEmpty && {
      rest: {
        text: `Not shown here: ${others.texts().join(', ')}.`,
        section: section.id,
      },
    }),
  };
}

const clipped = (
  { text, detail, tone, of }: OverviewItem,
  madeAt: Date,
): OverviewItem => ({
  of: of.slice(0, RESOURCES_MAX),
  text: clip(text),
  detail: clip(markFuture(detail, madeAt)),
  ...(tone !== undefined && { tone }),
});

const clip = (text: string): string =>
  text.length <= TEXT_MAX ? text : `${[...text].slice(0, TEXT_MAX).join('')}…`;
