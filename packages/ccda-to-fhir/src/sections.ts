import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  elementsIn,
  line,
  ownText,
  templatesOf,
} from './element.ts';
import type { FhirJson } from './json.ts';
import { cdaTable } from './lookup-table.ts';
import { SECTION_KINDS, type SectionKind } from './section-kinds.ts';
import type { DocumentScope } from './table.ts';

/**
 * All sections of a document, also those within others, each with its own
 * content only.
 */
export function sectionsOf(document: CdaElement): CdaElement[] {
  const inner = (of: CdaElement): CdaElement[] =>
    elementsAt(of, 'component/section').flatMap((section) => [
      section,
      ...inner(section),
    ]);
  return elementsAt(document, 'component/structuredBody').flatMap(inner);
}

/**
 * What kind of section it is: by any of its templates (C-CDA, CCD, HITSP C32,
 * IHE), otherwise by its LOINC code. The kind decides what some entries are;
 * most say it themselves.
 */
export function sectionKind(section: CdaElement): SectionKind | undefined {
  const templates = templatesOf(section);
  const code = sectionCode(section) ?? '';
  const found =
    SECTION_KINDS.find((kind) =>
      kind.templates.some((template) => templates.includes(template)),
    ) ?? SECTION_KINDS.find(({ codes }) => codes.includes(code));
  return found?.kind;
}

export const sectionCode = (section: CdaElement): string | undefined =>
  attribute(childOf(section, 'code'), 'code');

/** Elements of an entry that are clinical statements. */
const STATEMENTS: ReadonlySet<string> = new Set([
  'act',
  'encounter',
  'observation',
  'observationMedia',
  'organizer',
  'procedure',
  'regionOfInterest',
  'substanceAdministration',
  'supply',
]);

export const statementsIn = (of: CdaElement): CdaElement[] =>
  elementsIn(of).filter(({ name }) => STATEMENTS.has(name));

/**
 * Whether an entry, a statement in it or the subject of its concern has a null
 * flavor: it states that nothing is known.
 */
export function isNull(entry: CdaElement): boolean {
  const subjects = elementsAt(
    entry,
    'act/entryRelationship[@typeCode=SUBJ]/observation',
  ).slice(0, 1);
  return [entry, ...statementsIn(entry), ...subjects].some(
    (each) => attribute(each, 'nullFlavor') !== undefined,
  );
}

/** Kinds of section in which a row or item of the words is one statement. */
const LISTED: ReadonlySet<SectionKind> = new Set([
  'allergies',
  'immunizations',
  'medications',
  'problems',
  'procedures',
]);

/**
 * How many statements a section lists in words and how many as entries, where
 * these numbers differ: its entries may not say all that a reader of the
 * document sees. Undefined also where the words are no single table or list.
 */
export function unevenNumbers(
  section: CdaElement,
  entries: readonly CdaElement[],
): string | undefined {
  const kind = sectionKind(section);
  const blocks = within(childOf(section, 'text'), ['table', 'list']);
  const [block] = blocks;
  if (
    kind === undefined ||
    !LISTED.has(kind) ||
    entries.length === 0 ||
    block === undefined ||
    blocks.length > 1
  )
    return undefined;
  const rows =
    block.name === 'list'
      ? childrenOf(block, 'item')
      : elementsAt(block, 'tbody/tr').filter((row) =>
          childrenOf(row, 'td').some(
            (cell) =>
              ownText(cell) !== undefined || elementsIn(cell).length > 0,
          ),
        );
  const subjects = (statement: CdaElement) =>
    statement.name === 'act'
      ? elementsAt(statement, 'entryRelationship[@typeCode=SUBJ]/observation')
          .length
      : 1;
  const stated = entries
    .flatMap(statementsIn)
    .reduce((sum, statement) => sum + Math.max(1, subjects(statement)), 0);
  return rows.length === stated
    ? undefined
    : `${kind} (${rows.length} in words, ${stated} as entries)`;
}

const within = (
  of: CdaElement | undefined,
  names: readonly string[],
): CdaElement[] =>
  of === undefined
    ? []
    : elementsIn(of).flatMap((each) => [
        ...(names.includes(each.name) ? [each] : []),
        ...within(each, names),
      ]);

/**
 * Longer than any statement of absence; longer texts are not quoted and must be
 * read in the document.
 */
const QUOTED_MAX = 300;
const REASONS: Readonly<Record<string, string>> = cdaTable({
  NASK: 'notasked',
  MSK: 'withheld',
});

/**
 * Whether the words of a section with a null flavor say no more than that: one
 * sentence about missing information. Other words are kept.
 */
export function saysNothing(
  section: CdaElement,
  scope: DocumentScope,
): boolean {
  if (attribute(section, 'nullFlavor') === undefined) return false;
  const said = line(childOf(section, 'text'), scope);
  return said === undefined || NO_INFORMATION.test(said);
}

const NO_INFORMATION =
  /^\W*(?:n\/?a|none|unknown|(?:there (?:is|are) )?(?:no|not)\b[^.;:\d]{0,80}\b(?:applicable|assessed|available|data|documented|entered|entries|file|found|information|items|present|record(?:ed|s)?|reported|results)\b[^.;:\d]{0,60})\W*$/i;

/**
 * LOINC codes of the sections of allergies, problems, medications (also those
 * administered), immunizations, procedures and devices.
 */
const STATED_WHEN_EMPTY: ReadonlySet<string | undefined> = new Set([
  '48765-2',
  '11450-4',
  '10160-0',
  '29549-3',
  '11369-6',
  '47519-4',
  '46264-8',
]);

/**
 * A List with `emptyReason` for a section of allergies, problems, medications,
 * … without entries but with a text or a nullFlavor, so that the statement in
 * the text is not lost.
 *
 * @param isQuoted false when the text is too long to be quoted
 */
export function emptySection(
  section: CdaElement,
  scope: DocumentScope,
): { list: FhirJson; isQuoted: boolean } | undefined {
  const code = sectionCode(section);
  if (!STATED_WHEN_EMPTY.has(code)) return undefined;
  const flavor = attribute(section, 'nullFlavor');
  const said = line(childOf(section, 'text'), scope);
  if (flavor === undefined && said === undefined) return undefined;
  const isQuoted = said === undefined || said.length <= QUOTED_MAX;
  const reason =
    flavor === undefined ? undefined : (REASONS[flavor] ?? 'unavailable');
  const system = 'http://terminology.hl7.org/CodeSystem/list-empty-reason';
  const list = {
    resourceType: 'List',
    status: 'current',
    mode: 'snapshot',
    code: { coding: [{ system: 'http://loinc.org', code }] },
    subject: scope.patient,
    date: scope.day,
    emptyReason: {
      coding: reason === undefined ? undefined : [{ system, code: reason }],
      text: isQuoted
        ? said
        : 'The section has free text only; see the document',
    },
  };
  return { list, isQuoted };
}
