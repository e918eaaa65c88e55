import { lookupTable } from '../../../../lib/lookup-table.ts';
import type { Json } from '../../rules/json.ts';
import {
  concept,
  conceptBeside,
  numberOf,
  quantity,
  unitOf,
} from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  line,
  select,
  statusOf,
} from './element.ts';
import {
  ABSENT,
  MAPS,
  mapped,
  resourceOf,
  type Scope,
  type TemplateName,
  withName,
} from './table.ts';
import { isToCome, periodOf, statedTime } from './times.ts';

/**
 * Moods of a statement that has come true: an event, or a criterion of one that
 * some documents write beside it.
 */
const TRUE_MOODS = ['EVN', 'EVN.CRT', undefined];
export const isPlanned = (node: CdaElement): boolean =>
  !TRUE_MOODS.includes(attribute(node, 'moodCode'));

/**
 * The drug by its code, otherwise by what the document calls it anywhere in the
 * entry.
 */
export function drug(node: CdaElement, scope: Scope): Json | undefined {
  const at = (path: string) => select(node, path)[0];
  const named = (path: string) => {
    const text = line(at(path), scope);
    return text === undefined ? undefined : { text };
  };
  for (const product of [
    'consumable/manufacturedProduct',
    'product/manufacturedProduct',
  ])
    for (const material of [
      'manufacturedMaterial',
      'manufacturedLabeledDrug',
    ]) {
      const name = line(at(`${product}/${material}/name`), scope);
      const code = conceptBeside(
        name,
        at(`${product}/${material}/code`),
        scope,
      );
      if (code !== undefined) return withName(code, named('text'));
      if (name !== undefined) return { text: name };
    }
  if (node.name === 'supply') return undefined;
  return concept(childOf(node, 'code'), scope) ?? named('text');
}

/**
 * The drug as `medication[x]`: a Medication when the document says more of it
 * than what it is.
 */
function medicationOf(node: CdaElement, scope: Scope): Json {
  const code = drug(node, scope);
  const { form, ...more } = mapped('Medication', node, scope) ?? {};
  if (code === undefined || Object.keys(more).length === 0)
    return { medicationCodeableConcept: code ?? ABSENT };
  const display = code.text ?? (code.coding as Json[] | undefined)?.[0]?.code;
  return {
    contained: [
      { resourceType: 'Medication', id: 'medication', code, form, ...more },
    ],
    medicationReference: { reference: '#medication', display },
  };
}

/**
 * The status of a drug. "Completed" may mean only that the entry was written
 * (C-CDA on FHIR, "Medication Status"): taking has ended if the end is stated
 * and not after the document. With a later end it goes on; without one it is
 * unknown whether it does.
 */
export function medicationStatus(node: CdaElement, scope: Scope): string {
  const status = MAPS.MedicationStatus[statusOf(node) ?? ''] ?? 'unknown';
  if (status !== 'completed') return status;
  const { at, high } = statedTime(childOf(node, 'effectiveTime'), scope.offset);
  const end = (high ?? at)?.value;
  if (end === undefined) return 'unknown';
  return isToCome(end, scope.day) ? 'active' : status;
}

/**
 * What was requested in a plan is only planned; in a list of medications an
 * intention is a prescription.
 */
export const intentOf = (node: CdaElement, { section }: Scope): string =>
  MAPS.RequestIntent[attribute(node, 'moodCode') ?? ''] ??
  (section === 'medications' || section === 'immunizations' ? 'order' : 'plan');

/**
 * What a document says of a drug: given by staff, taken (an event), or ordered
 * and intended.
 */
export function medication(node: CdaElement, scope: Scope): Json {
  const isGiven =
    scope.section === 'administered medications' &&
    attribute(node, 'negationInd') !== 'true';
  const name: TemplateName = isPlanned(node)
    ? 'MedicationRequest'
    : isGiven
      ? 'MedicationAdministration'
      : 'MedicationStatement';
  const made = resourceOf(name, node, scope) ?? {};
  const isDated =
    made.effectiveDateTime !== undefined || made.effectivePeriod !== undefined;
  const undated = isGiven && !isDated && name === 'MedicationAdministration';
  return {
    ...made,
    ...medicationOf(node, scope),
    _effectiveDateTime: undated ? ABSENT : made._effectiveDateTime,
  };
}

/**
 * What was dispensed of a drug, and, if the drug was stated as taken, what was
 * ordered.
 */
export function supplies(node: CdaElement, scope: Scope): Json[] {
  const ofDrug = medicationOf(node, scope);
  return select(node, 'entryRelationship/supply').flatMap((each) =>
    isPlanned(each) && isPlanned(node)
      ? []
      : [
          {
            ...supplyResource(each, scope),
            ...(ownDrug(each, scope) ?? ofDrug),
          },
        ],
  );
}

const supplyResource = (node: CdaElement, scope: Scope): Json =>
  resourceOf(
    isPlanned(node) ? 'SupplyOrder' : 'MedicationDispense',
    node,
    scope,
  ) ?? {};

function ownDrug(supply: CdaElement, scope: Scope): Json | undefined {
  const medicationCodeableConcept = drug(supply, scope);
  return medicationCodeableConcept && { medicationCodeableConcept };
}

/** A supply of its own: of a drug; undefined for anything else. */
export function supply(node: CdaElement, scope: Scope): Json | undefined {
  const own = ownDrug(node, scope);
  return own && { ...supplyResource(node, scope), ...own };
}

/** FHIR's units of time; UCUM calls them the same. */
const UNITS = ['s', 'min', 'h', 'd', 'wk', 'mo', 'a'];
const HOURS_OF_DAY = 24;

/**
 * How a drug is taken (C-CDA on FHIR, Medications): dose, rate, route, timing,
 * "as needed", and the directions in words. Undefined when nothing of it is
 * stated.
 */
export function dosage(
  administration: CdaElement,
  scope: Scope,
): Json | undefined {
  const first = (name: string) => childOf(administration, name);
  const doseAndRate = {
    ...quantityOrRange(
      'dose',
      first('doseQuantity'),
      scope,
      unitInWords(first('administrationUnitCode'), scope),
    ),
    ...quantityOrRange('rate', first('rateQuantity'), scope, {}),
  };
  const maximum = first('maxDoseQuantity');
  const over = quantity(childOf(maximum, 'numerator'), scope);
  const under = quantity(childOf(maximum, 'denominator'), scope);
  const instructions = select(
    administration,
    'entryRelationship/act[template=4.20]',
  ).concat(
    select(
      administration,
      'entryRelationship/act[code=409073007|423564006]',
    ).filter((act) => childOf(act, 'templateId') === undefined),
  );
  const coded = instructions
    .map((act) => childOf(act, 'code'))
    .filter(
      (code) =>
        !['409073007', '423564006'].includes(attribute(code, 'code') ?? ''),
    )
    .map((code) => concept(code, scope))
    .filter((code) => code !== undefined);
  const said = instructions.flatMap(
    (act) => line(childOf(act, 'text'), scope) ?? [],
  );
  const preconditions = select(administration, 'precondition');
  const asNeeded = preconditions
    .map((each) =>
      concept(
        select(each, 'criterion/value')[0] ?? select(each, 'criterion/code')[0],
        scope,
      ),
    )
    .find((each) => each !== undefined && !isAssertion(each));
  const made = {
    text: directionsInWords(administration, scope),
    additionalInstruction: coded.length === 0 ? undefined : coded,
    patientInstruction:
      said.length === 0 ? undefined : [...new Set(said)].join('; '),
    timing: timing(administration, scope),
    ...(asNeeded === undefined
      ? { asNeededBoolean: preconditions.length === 0 ? undefined : true }
      : { asNeededCodeableConcept: asNeeded }),
    site: concept(first('approachSiteCode'), scope),
    route: concept(first('routeCode'), scope),
    doseAndRate:
      Object.keys(doseAndRate).length === 0 ? undefined : [doseAndRate],
    maxDosePerPeriod:
      over === undefined || under === undefined
        ? undefined
        : { numerator: over, denominator: under },
  };
  return Object.values(made).some((part) => part !== undefined)
    ? made
    : undefined;
}

const isAssertion = (code: Json): boolean =>
  JSON.stringify(code).includes('"ASSERTION"');

/**
 * A free text sig (C-CDA's own template, or any inner administration with LOINC
 * 76662-6), otherwise the text of the entry itself.
 */
function directionsInWords(
  administration: CdaElement,
  scope: Scope,
): string | undefined {
  const sigs = select(
    administration,
    'entryRelationship/substanceAdministration[code=76662-6]',
  ).concat(
    select(
      administration,
      'entryRelationship/substanceAdministration[template=4.147]',
    ),
  );
  const sig = sigs
    .map((each) => line(childOf(each, 'text'), scope))
    .find(Boolean);
  if (sig !== undefined) return sig;
  const text = childOf(administration, 'text');
  // A reference leads to the row of a table, which says more than directions.
  return childOf(text, 'reference') === undefined
    ? line(text, scope)
    : undefined;
}

/**
 * A dose counts what the administration unit names ("Capsule") unless it has a
 * unit of its own.
 */
function unitInWords(code: CdaElement | undefined, scope: Scope): Json {
  const named = concept(code, scope);
  const name =
    typeof named?.text === 'string'
      ? named.text.replace(/ dosing unit$/i, '')
      : undefined;
  return name === undefined || /^not applicable/i.test(name)
    ? {}
    : { unit: name };
}

function quantityOrRange(
  name: 'dose' | 'rate',
  element: CdaElement | undefined,
  scope: Scope,
  counted: Json,
): Json {
  const own = withoutCount(quantity(element, scope));
  if (own !== undefined) return { [`${name}Quantity`]: { ...counted, ...own } };
  const end = (side: string) => {
    const found = withoutCount(quantity(childOf(element, side), scope));
    return (
      found && { ...counted, ...unitOf(attribute(element, 'unit')), ...found }
    );
  };
  const low = end('low');
  const high = end('high');
  return low === undefined && high === undefined
    ? {}
    : { [`${name}Range`]: { low, high } };
}

/**
 * The first time says from when to when, the others how often (C-CDA on FHIR,
 * "Medication Timing and Frequency").
 */
function timing(administration: CdaElement, scope: Scope): Json | undefined {
  const times = childrenOf(administration, 'effectiveTime');
  const isFrequency = (time: CdaElement) =>
    /^(?:PIVL|EIVL)/.test(attribute(time, 'type') ?? '') ||
    childOf(time, 'period') !== undefined ||
    childOf(time, 'event') !== undefined;
  const bounds = times.find((time) => !isFrequency(time));
  const { at, ...limits } = statedTime(bounds, scope.offset);
  const boundsPeriod = periodOf(limits);
  const repeat = {
    boundsPeriod,
    ...Object.assign(
      {},
      ...times.filter(isFrequency).map((time) => frequency(time, scope)),
    ),
  } as Json;
  const isRepeated = Object.values(repeat).some((part) => part !== undefined);
  const code = times
    .filter(isFrequency)
    .map((time) => concept(childOf(time, 'code'), scope))
    .find(Boolean);
  return isRepeated || at !== undefined || code !== undefined
    ? { event: at && [at.value], repeat: isRepeated ? repeat : undefined, code }
    : undefined;
}

function frequency(time: CdaElement, scope: Scope): Json {
  const period = childOf(time, 'period');
  const event = attribute(childOf(time, 'event'), 'code');
  const offset = childOf(time, 'offset');
  return {
    ...(event === undefined
      ? {}
      : { when: event.split(/\s+/), offset: minutesOf(offset, scope) }),
    ...(period === undefined
      ? {}
      : howOften(period, attribute(time, 'institutionSpecified') === 'true')),
  };
}

/**
 * @param isTimesADay "every 8 hours" means three times a day at the
 *   institution's hours
 */
function howOften(period: CdaElement, isTimesADay: boolean): Json {
  const low = childOf(period, 'low');
  const high = childOf(period, 'high');
  const value = numberOf(period) ?? numberOf(low);
  const unit =
    attribute(period, 'unit') ??
    attribute(low, 'unit') ??
    attribute(high, 'unit') ??
    '';
  if (value === undefined || value <= 0 || !UNITS.includes(unit)) return {};
  const times = HOURS_OF_DAY / value;
  if (isTimesADay && unit === 'h' && Number.isInteger(times))
    return { frequency: times, period: 1, periodUnit: 'd' };
  const periodMax = numberOf(high);
  return periodMax === undefined
    ? { frequency: 1, period: value, periodUnit: unit }
    : { period: value, periodMax, periodUnit: unit };
}

const MINUTES: Readonly<Record<string, number>> = lookupTable({
  min: 1,
  h: 60,
  d: 1_440,
});

function minutesOf(
  offset: CdaElement | undefined,
  scope: Scope,
): number | undefined {
  const found =
    quantity(offset, scope) ?? quantity(childOf(offset, 'low'), scope);
  const minutes =
    Number(found?.value) * (MINUTES[String(found?.unit)] ?? Number.NaN);
  return Number.isInteger(minutes) && minutes >= 0 ? minutes : undefined;
}

/** A quantity whose unit is only "1": what is counted, another element says. */
export const withoutCount = (found: Json | undefined): Json | undefined =>
  found?.code === '1' ? { value: found.value, _value: found._value } : found;

/** How a drug was given, as `MedicationAdministration.dosage`. */
export function given(
  administration: CdaElement,
  scope: Scope,
): Json | undefined {
  const { text, site, route, doseAndRate } =
    dosage(administration, scope) ?? {};
  const [amount] = (doseAndRate ?? []) as Json[];
  const made = {
    text,
    site,
    route,
    dose: amount?.doseQuantity,
    rateQuantity: amount?.rateQuantity,
  };
  return Object.values(made).some((part) => part !== undefined)
    ? made
    : undefined;
}
