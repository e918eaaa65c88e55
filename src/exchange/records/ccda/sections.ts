import { type Json, objectsOf, textOf } from '../rules/json.ts';

type Node = Record<string, unknown>;

/** The kinds of section by which the converter decides what an entry is. */
export type SectionKind =
  | 'allergies'
  | 'care teams'
  | 'family history'
  | 'goals'
  | 'health concerns'
  | 'immunizations'
  | 'medications'
  | 'plan'
  | 'problems'
  | 'procedures'
  | 'results'
  | 'social history'
  | 'vital signs';

interface Rule {
  kind: SectionKind;
  /** The section's LOINC codes. */
  codes: readonly string[];
  /** Its templates: first the one that the converter knows, then those of other releases of C-CDA, of CCD, HITSP and IHE. */
  templates: readonly [string, ...string[]];
}

const CCDA = '2.16.840.1.113883.10.20.22.2.';
const CCD = '2.16.840.1.113883.10.20.1.';
const HITSP = '2.16.840.1.113883.3.88.11.83.';
const IHE = '1.3.6.1.4.1.19376.1.5.3.1.3.';

const RULES: readonly Rule[] = [
  {
    kind: 'allergies',
    codes: ['48765-2'],
    templates: [`${CCDA}6.1`, `${CCDA}6`, `${CCD}2`, `${HITSP}102`, `${IHE}13`],
  },
  {
    kind: 'problems',
    codes: ['11450-4'],
    templates: [`${CCDA}5.1`, `${CCDA}5`, `${CCD}11`, `${HITSP}103`, `${IHE}6`],
  },
  {
    kind: 'medications',
    codes: ['10160-0', '10183-2', '75311-1'],
    templates: [
      `${CCDA}1.1`,
      `${CCDA}1`,
      `${CCDA}11`,
      `${CCDA}11.1`,
      `${CCD}8`,
      `${HITSP}112`,
      `${HITSP}114`,
      `${IHE}19`,
      `${IHE}22`,
    ],
  },
  {
    kind: 'immunizations',
    codes: ['11369-6'],
    templates: [`${CCDA}2.1`, `${CCDA}2`, `${CCD}6`, `${HITSP}117`, `${IHE}23`],
  },
  {
    kind: 'procedures',
    codes: ['47519-4'],
    templates: [`${CCDA}7.1`, `${CCDA}7`, `${CCD}12`, `${HITSP}108`, `${IHE}12`],
  },
  {
    kind: 'plan',
    codes: ['18776-5', '59772-4'],
    templates: [`${CCDA}10`, `${CCDA}30`, `${CCD}10`, `${HITSP}124`, `${IHE}31`],
  },
  {
    kind: 'family history',
    codes: ['10157-6'],
    templates: [`${CCDA}15`, `${CCD}4`, `${HITSP}125`, `${IHE}14`, `${IHE}15`],
  },
  {
    kind: 'results',
    codes: ['30954-2'],
    templates: [`${CCDA}3.1`, `${CCDA}3`, `${CCD}14`, `${HITSP}122`, `${IHE}28`],
  },
  {
    kind: 'vital signs',
    codes: ['8716-3'],
    templates: [`${CCDA}4.1`, `${CCDA}4`, `${CCD}16`, `${HITSP}119`, `${IHE}25`],
  },
  {
    kind: 'social history',
    codes: ['29762-2'],
    templates: [`${CCDA}17`, `${CCD}15`, `${HITSP}126`, `${IHE}16`],
  },
  { kind: 'health concerns', codes: ['75310-3'], templates: [`${CCDA}58`] },
  { kind: 'goals', codes: ['61146-7'], templates: [`${CCDA}60`] },
  { kind: 'care teams', codes: ['85847-2'], templates: [`${CCDA}500`] },
];

/** Stands for a template where a document gives none: the converter expects one everywhere. */
const NO_TEMPLATE = [{ '@_root': 'none' }];

const rootsOf = ({ templateId }: Json): string[] =>
  objectsOf(templateId).flatMap((id) => textOf(id['@_root']) ?? []);

function ruleOf(section: Json): Rule | undefined {
  const roots = rootsOf(section);
  const code = textOf(objectsOf(section.code)[0]?.['@_code']) ?? '';
  return (
    RULES.find(({ templates }) => templates.some((template) => roots.includes(template))) ??
    RULES.find(({ codes }) => codes.includes(code))
  );
}

/** What kind of section it is, by any of its templates, otherwise by its LOINC code. */
export const kindOf = (section: Json): SectionKind | undefined => ruleOf(section)?.kind;

/**
 * Rewrites, in place, a parsed document so that the converter recognises every section: it looks only at the first template of a
 * section, knows only some releases' templates, and does not see sections within sections.
 */
export function prepareSections({ component }: Json): void {
  const body = objectsOf(component)[0]?.structuredBody as Node | undefined;
  if (body === undefined) return;
  const sections = withInner(objectsOf(body.component).flatMap(({ section }) => objectsOf(section)));
  body.component = sections.map((section) => ({ section: [section] }));
  for (const section of sections as Node[]) {
    const rule = ruleOf(section);
    const [first] = objectsOf(section.templateId);
    section.templateId =
      rule !== undefined ? [{ '@_root': rule.templates[0] }] : first ? [first] : NO_TEMPLATE;
    if (section.entry !== undefined)
      section.entry = objectsOf(section.entry).flatMap((entry) => prepared(entry, rule?.kind));
  }
}

function withInner(sections: readonly Json[]): Json[] {
  return sections.flatMap((section) => {
    const inner = objectsOf(section.component).flatMap(({ section: own }) => objectsOf(own));
    delete (section as Node).component;
    return [section, ...withInner(inner)];
  });
}

/** The template that makes an observation of the section one of its category. */
const OBSERVATION_TEMPLATES: Partial<Record<SectionKind, string>> = {
  results: '2.16.840.1.113883.10.20.22.4.2',
  'social history': '2.16.840.1.113883.10.20.22.4.38',
  'vital signs': '2.16.840.1.113883.10.20.22.4.27',
};
const OF_CCDA = '2.16.840.1.113883.10.20.22.4.';

/** Takes panels out of panels and discharge medications out of the acts around them, and adds templates where there are none. */
function prepared(entry: Json, kind: SectionKind | undefined): Json[] {
  const inner = objectsOf(entry.organizer).flatMap(takePanels);
  if (inner.length > 0)
    (entry as Node).organizer = objectsOf(entry.organizer).filter(
      ({ component }) => objectsOf(component).length > 0,
    );
  const wrapped = kind === 'medications' ? objectsOf(entry.act).flatMap(medicationsOf) : [];
  const entries: Json[] = [
    entry,
    ...inner.map((organizer) => ({ organizer: [organizer] })),
    ...wrapped.map((administration) => ({ substanceAdministration: [administration] })),
  ];
  if (wrapped.length > 0) delete (entry as Node).act;
  for (const each of entries) addTemplates(each, OBSERVATION_TEMPLATES[kind ?? 'plan']);
  return entries;
}

function takePanels(organizer: Json): Json[] {
  const components = objectsOf(organizer.component);
  const inner = components.flatMap(({ organizer: panels }) => objectsOf(panels));
  if (inner.length === 0) return [];
  (organizer as Node).component = components.filter((component) => component.organizer === undefined);
  return inner.flatMap((panel) => [panel, ...takePanels(panel)]);
}

const medicationsOf = (act: Json): Json[] =>
  objectsOf(act.entryRelationship).flatMap(({ substanceAdministration }) =>
    objectsOf(substanceAdministration),
  );

function addTemplates(node: Json, template: string | undefined): void {
  // An empty element, which the converter cannot read.
  if (node.observation !== undefined) (node as Node).observation = objectsOf(node.observation);
  for (const observation of objectsOf(node.observation) as Node[]) {
    // The converter expects a goal to have a status.
    observation.statusCode ??= { '@_code': 'unknown' };
    if (!rootsOf(observation).some((root) => root.startsWith(OF_CCDA)))
      observation.templateId = [
        ...(template === undefined ? [] : [{ '@_root': template }]),
        ...objectsOf(observation.templateId),
        ...NO_TEMPLATE,
      ];
  }
  for (const name of ['organizer', 'component'])
    for (const inner of objectsOf(node[name])) addTemplates(inner, template);
}
