import { path } from './cda-path.ts';
import { concept } from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  line,
  statusCode,
  templatesOf,
} from './element.ts';
import { type FhirJson, fhirObjects, fhirText, isFhirJson } from './json.ts';
import { saysNoMore } from './shown-names.ts';
import {
  ABSENT,
  codedConcept,
  type DocumentScope,
  mapped,
  namedConcept,
  templateResource,
} from './table.ts';
import { MAPS } from './value-maps.ts';
import { observedValue } from './values.ts';

/**
 * Parts that other rules read: the status, severity, age and criticality of
 * what they are part of.
 */
const READ_ELSEWHERE = [
  '33999-4',
  'SEV',
  '445518008',
  '82606-5',
  '11323-3',
  '92236-9',
];

/**
 * An observation as a resource without an id; its parts are components. @param
 * panel what its panel states for all members
 */
export function observation(
  node: CdaElement,
  scope: DocumentScope,
  panel: FhirJson = {},
): FhirJson {
  const made = templateResource('Observation', node, scope) ?? {};
  const [first, ...others] = childrenOf(node, 'value');
  const value = statedValue(node, first, made.code, scope);
  const hasTime =
    made.effectiveDateTime !== undefined || made.effectivePeriod !== undefined;
  const { performer, status: ofPanel, ...time } = panel;
  const status =
    statedStatus(node, RESULT_STATUS, scope) ??
    MAPS.ResultStatus[statusCode(node) ?? ''] ??
    (statusCode(node) === undefined ? ofPanel : undefined);
  const hasValue = Object.keys(value).some((name) => name.startsWith('value'));
  const category = categoryOf(node, scope);
  const parts = [
    ...others.map((each) => ({
      code: made.code,
      ...observedValue(each, scope),
    })),
    ...partsOf(node).flatMap((part) => components(part, scope)),
  ];
  return {
    ...(hasTime ? {} : time),
    performer,
    ...made,
    // A value that is there is at least preliminary.
    status:
      statusCode(node) === 'active' && status === 'registered' && hasValue
        ? 'preliminary'
        : (status ?? 'final'),
    category:
      category === undefined
        ? undefined
        : [
            codedConcept(
              MAPS.CategorySystem[category] ?? 'observation-category',
              category,
            ),
          ],
    code: asserted(node) ?? made.code,
    ...value,
    component: parts.length === 0 ? undefined : parts,
  };
}

/** The templates of results and vital signs, which may stand anywhere. */
const RESULT = '4.2';
const VITAL_SIGN = '4.27';

function categoryOf(
  node: CdaElement,
  { section }: DocumentScope,
): string | undefined {
  const templates = templatesOf(node);
  if (templates.includes(RESULT)) return 'laboratory';
  if (templates.includes(VITAL_SIGN)) return 'vital-signs';
  return section && MAPS.ObservationCategory[section];
}

/** The status that a laboratory states beside a result, and beside its panel. */
const RESULT_STATUS = path('entryRelationship/observation[code=92236-9]/value');
const PANEL_STATUS = path('component/observation[code=92235-1]/value');

function statedStatus(
  node: CdaElement,
  at: typeof RESULT_STATUS,
  scope: DocumentScope,
): string | undefined {
  return elementsAt(node, at)
    .flatMap((value) => [
      attribute(value, 'code'),
      fhirText(concept(value, scope)?.text),
    ])
    .map((said) => MAPS.StatedResultStatus[said?.toLowerCase() ?? ''])
    .find((status) => status !== undefined);
}

/** Whether a member of a panel only says the status of the panel. */
export const isPanelStatus = (member: CdaElement): boolean =>
  attribute(childOf(member, 'code'), 'code') === '92235-1';

/**
 * The code of templates that earlier releases code as "assertion" only (the
 * guide, Social History).
 */
function asserted(node: CdaElement): FhirJson | undefined {
  if (attribute(childOf(node, 'code'), 'code') !== 'ASSERTION')
    return undefined;
  const [loinc] = templatesOf(node).flatMap(
    (template) => MAPS.Asserted[template] ?? [],
  );
  return loinc === undefined
    ? undefined
    : namedConcept('http://loinc.org', loinc);
}

/**
 * The value of an observation. One that is stated to be unknown may be in the
 * words that the observation refers to ("Positive for MRSA"); a row of a table
 * says more than the value.
 */
function statedValue(
  node: CdaElement,
  value: CdaElement | undefined,
  code: unknown,
  scope: DocumentScope,
): FhirJson {
  const made = observedValue(value, scope);
  if (made.dataAbsentReason === undefined) return made;
  const said = line(childOf(node, 'text'), scope);
  const isValue = said !== undefined && !NO_VALUE.test(said);
  return isValue && !namesOf(code).some((name) => saysNoMore(said, name))
    ? { valueString: said }
    : made;
}

/** A row of a table, what ends in a date, or that there is no value. */
const NO_VALUE =
  / \| |\d{4}-\d\d-\d\d$|^(?:-+|n\/?a|none|not available|null|unk|unknown|\d\d?\/\d\d?\/\d{2,4})$/i;

const namesOf = (code: unknown): string[] =>
  isFhirJson(code)
    ? [fhirText(code.text)]
        .concat(
          fhirObjects(code.coding).map(({ display }) => fhirText(display)),
        )
        .filter((name) => name !== undefined)
    : [];

/** The observations within one, also those that an organizer groups. */
const partsOf = (node: CdaElement): CdaElement[] =>
  elementsAt(node, 'entryRelationship/observation').concat(
    elementsAt(node, 'entryRelationship/organizer/component/observation'),
  );

/**
 * A part of an observation as a component, and its own parts: the
 * susceptibilities of an organism have its name beside theirs.
 */
function components(
  part: CdaElement,
  scope: DocumentScope,
  of?: string,
): FhirJson[] {
  const own = childOf(part, 'code');
  if (
    READ_ELSEWHERE.includes(attribute(own, 'code') ?? '') ||
    attribute(part, 'negationInd') === 'true'
  )
    return [];
  const code = concept(own, scope);
  const value = statedValue(part, childOf(part, 'value'), code, scope);
  const coded = value.valueCodeableConcept;
  const found = isFhirJson(coded)
    ? fhirText(coded.text)
    : fhirText(value.valueString);
  const inner = partsOf(part).flatMap((each) =>
    components(each, scope, found ?? of),
  );
  if (code === undefined || Object.keys(value).length === 0) return inner;
  const { interpretation, referenceRange } =
    mapped('Observation', part, scope) ?? {};
  const text = fhirText(code.text);
  const named =
    of === undefined || text === undefined
      ? code
      : { ...code, text: `${text} (${of})` };
  const made: FhirJson = {
    code: named,
    ...value,
    interpretation,
    referenceRange,
  };
  return [made].concat(inner);
}

/**
 * A panel: a DiagnosticReport of results, or an Observation of vital signs with
 * its members, which have its time and performer where they state none. A panel
 * without a code only groups results, one of vital signs without a time only
 * measurements.
 *
 * @param complete adds to what was made of a member what else it says
 */
export function addPanel(
  node: CdaElement,
  members: readonly CdaElement[],
  scope: DocumentScope,
  complete: (made: FhirJson, member: CdaElement) => FhirJson,
): void {
  const made = mapped('Panel', node, scope) ?? {};
  const { performer, effectiveDateTime, _effectiveDateTime, effectivePeriod } =
    made;
  const stated =
    statedStatus(node, PANEL_STATUS, scope) ??
    MAPS.ResultStatus[statusCode(node) ?? ''];
  const common = {
    performer,
    effectiveDateTime,
    _effectiveDateTime,
    effectivePeriod,
    status: stated,
  };
  const result = withBloodPressure(
    members.map((member) =>
      complete(observation(member, scope, common), member),
    ),
  ).map(scope.add);
  const base = { ...made, status: stated ?? 'final' };
  if (result.length === 0) return;
  if (scope.section === 'vital signs') {
    if (effectiveDateTime === undefined && effectivePeriod === undefined)
      return;
    const category = [codedConcept('observation-category', 'vital-signs')];
    const code = {
      ...codedConcept('http://loinc.org', '85353-1'),
      text: 'Vital signs',
    };
    scope.add({
      resourceType: 'Observation',
      ...base,
      category,
      code,
      hasMember: result,
    });
  } else if (made.code !== undefined) {
    const category =
      scope.section === 'results'
        ? [codedConcept('v2-0074', 'LAB')]
        : undefined;
    scope.add({ resourceType: 'DiagnosticReport', ...base, category, result });
  }
}

const hasLoinc = ({ code }: FhirJson, loinc: string): boolean =>
  ((code as FhirJson).coding as FhirJson[] | undefined)?.some(
    (each) => each.system === 'http://loinc.org' && each.code === loinc,
  ) ?? false;

/**
 * Systolic and diastolic pressure of one panel and time are one observation;
 * with several of either, all stay by themselves.
 */
function withBloodPressure(members: readonly FhirJson[]): FhirJson[] {
  const [systolic, ...more] = members.filter((member) =>
    hasLoinc(member, '8480-6'),
  );
  const [diastolic, ...others] = members.filter((member) =>
    hasLoinc(member, '8462-4'),
  );
  if (
    systolic === undefined ||
    diastolic === undefined ||
    more.length > 0 ||
    others.length > 0
  )
    return [...members];
  const one = apart(systolic);
  const two = apart(diastolic);
  if (JSON.stringify(one.shared) !== JSON.stringify(two.shared))
    return [...members];
  const both: FhirJson = {
    ...one.shared,
    identifier: [systolic.identifier, diastolic.identifier].flat() as unknown[],
    code: {
      ...codedConcept('http://loinc.org', '85354-9'),
      text: 'Blood pressure',
    },
    component: [one.own, two.own],
  };
  return members.flatMap((member) =>
    member === systolic ? [both] : member === diastolic ? [] : [member],
  );
}

/**
 * What a measurement says by itself, and what it shares with that of the other
 * pressure.
 */
function apart(pressure: FhirJson): { own: FhirJson; shared: FhirJson } {
  const {
    identifier: _identifier,
    code,
    valueQuantity,
    interpretation,
    referenceRange,
    ...shared
  } = pressure;
  return {
    own: {
      code: code ?? ABSENT,
      valueQuantity,
      interpretation,
      referenceRange,
    },
    shared,
  };
}
