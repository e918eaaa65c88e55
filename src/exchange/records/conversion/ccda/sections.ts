import { topicOfSection } from '../../rules/absence.ts';
import type { Json } from '../../rules/json.ts';
import { attribute, type CdaElement, childOf, elementsIn, select, templatesOf } from './element.ts';
import { line } from './narrative.ts';
import kinds from './sections.json' with { type: 'json' };
import type { Scope } from './table.ts';

/** All sections of a document, also those within others, each with its own content only. */
export function sectionsOf(document: CdaElement): CdaElement[] {
  const inner = (of: CdaElement): CdaElement[] =>
    select(of, 'component/section').flatMap((section) => [section, ...inner(section)]);
  return select(document, 'component/structuredBody').flatMap(inner);
}

/**
 * What kind of section it is: by any of its templates (C-CDA, CCD, HITSP C32, IHE), otherwise by its LOINC code. The kind decides what
 * some entries are; most say it themselves.
 */
export function kindOf(section: CdaElement): string | undefined {
  const templates = templatesOf(section);
  const code = codeOf(section) ?? '';
  const found =
    kinds.find((kind) => kind.templates.some((template) => templates.includes(template))) ??
    kinds.find(({ codes }) => codes.includes(code));
  return found?.kind;
}

export const codeOf = (section: CdaElement): string | undefined =>
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

/** Whether an entry, a statement in it or the subject of its concern has a null flavor: it states that nothing is known. */
export function isNull(entry: CdaElement): boolean {
  const subjects = select(entry, 'act/entryRelationship[@typeCode=SUBJ]/observation').slice(0, 1);
  return [entry, ...statementsIn(entry), ...subjects].some(
    (each) => attribute(each, 'nullFlavor') !== undefined,
  );
}

/** Longer than any statement of absence; longer texts are not quoted and must be read in the document. */
const QUOTED_MAX = 300;
const REASONS: Readonly<Record<string, string>> = { NASK: 'notasked', MSK: 'withheld' };

/**
 * A List with `emptyReason` for a section of allergies, problems, medications, … without entries but with a text or a nullFlavor, so
 * that the statement in the text is not lost.
 *
 * @param isQuoted false when the text is too long to be quoted
 */
export function emptySection(
  section: CdaElement,
  scope: Scope,
): { list: Json; isQuoted: boolean } | undefined {
  const code = codeOf(section);
  if (topicOfSection(code) === undefined) return undefined;
  const flavor = attribute(section, 'nullFlavor');
  const said = line(childOf(section, 'text'), scope);
  if (flavor === undefined && said === undefined) return undefined;
  const isQuoted = said === undefined || said.length <= QUOTED_MAX;
  const reason = flavor === undefined ? undefined : (REASONS[flavor] ?? 'unavailable');
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
      text: isQuoted ? said : 'The section has free text only; see the document',
    },
  };
  return { list, isQuoted };
}
