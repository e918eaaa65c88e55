import {
  coding,
  concept,
  numberOf,
  quantity,
  unitMembers,
} from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  line,
  markRead,
  ownText,
  words,
} from './element.ts';
import type { FhirJson } from './json.ts';
import { codedConcept, type DocumentScope } from './table.ts';
import { cdaTimeInFhir, periodOf, setTime, statedTime } from './times.ts';
import { MAPS } from './value-maps.ts';

const CODED = ['CD', 'CE', 'CO', 'CS', 'CV', 'SC'];
const INTEGER_MAX = 2_147_483_647;

/**
 * The value of an observation as `value[x]`, by its type (C-CDA on FHIR,
 * Results); a reason when it has none.
 */
export function observedValue(
  value: CdaElement | undefined,
  scope: DocumentScope,
): FhirJson {
  if (value === undefined) return {};
  const made = typedValue(value, scope);
  if (Object.keys(made).length > 0) {
    markRead(value);
    return made;
  }
  const flavor = attribute(value, 'nullFlavor');
  const reason = MAPS.NullFlavorDataAbsentReason[flavor ?? ''];
  return reason === undefined
    ? {}
    : { dataAbsentReason: codedConcept('data-absent-reason', reason) };
}

function typedValue(value: CdaElement, scope: DocumentScope): FhirJson {
  const type = attribute(value, 'type')?.replace(/^.*:/, '') ?? '';
  const number = numberOf(value);
  if (
    CODED.includes(type) ||
    (type === '' && attribute(value, 'code') !== undefined)
  ) {
    const valueCodeableConcept = concept(value, scope);
    if (valueCodeableConcept !== undefined) return { valueCodeableConcept };
  }
  if (
    type === 'INT' &&
    number !== undefined &&
    Number.isInteger(number) &&
    Math.abs(number) <= INTEGER_MAX
  )
    return { valueInteger: number };
  if (type === 'BL') {
    const stated = attribute(value, 'value');
    return stated === 'true' || stated === 'false'
      ? { valueBoolean: stated === 'true' }
      : {};
  }
  if (type === 'TS') return withTime(attribute(value, 'value'), scope);
  if (type === 'IVL_TS') {
    const valuePeriod = periodOf(statedTime(value, scope.offset));
    return valuePeriod === undefined ? {} : { valuePeriod };
  }
  if (type === 'RTO' || childOf(value, 'numerator') !== undefined) {
    const numerator = quantity(childOf(value, 'numerator'), scope);
    const denominator = quantity(childOf(value, 'denominator'), scope);
    if (numerator !== undefined && denominator !== undefined)
      return { valueRatio: { numerator, denominator } };
  }
  const valueQuantity = quantity(value, scope);
  if (valueQuantity !== undefined) return { valueQuantity };
  const range = rangeOf(value, scope);
  if (range !== undefined) return range;
  return inWords(value, scope);
}

function withTime(stated: string | undefined, scope: DocumentScope): FhirJson {
  const made: Record<string, unknown> = {};
  const time = cdaTimeInFhir(stated, scope.offset);
  // Not a date, so it is kept as it was written.
  if (time === undefined)
    return stated === undefined ? {} : { valueString: stated };
  setTime(made, 'valueDateTime', time);
  return made;
}

/** A range; a single bound is a quantity with a comparator. */
function rangeOf(
  value: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const { low, high } = bounds(value, scope);
  if (low !== undefined && high !== undefined)
    return { valueRange: { low, high } };
  const isOpen = (side: string) =>
    attribute(childOf(value, side), 'inclusive') === 'false';
  if (low !== undefined)
    return {
      valueQuantity: { ...low, comparator: isOpen('low') ? '>' : '>=' },
    };
  if (high !== undefined)
    return {
      valueQuantity: { ...high, comparator: isOpen('high') ? '<' : '<=' },
    };
  return undefined;
}

export function bounds(
  value: CdaElement | undefined,
  scope: DocumentScope,
): { low?: FhirJson; high?: FhirJson } {
  return {
    low: quantity(childOf(value, 'low'), scope),
    high: quantity(childOf(value, 'high'), scope),
  };
}

/**
 * Anything else as it was written: of `1,000` or `120/80` no part is a number
 * of its own. A file is an attachment.
 */
function inWords(value: CdaElement, scope: DocumentScope): FhirJson {
  if (attribute(value, 'representation') === 'B64') {
    const url =
      'http://hl7.org/fhir/5.0/StructureDefinition/extension-Observation.value';
    const data = ownText(value)?.replaceAll(' ', '');
    return {
      extension: [
        {
          url,
          valueAttachment: { contentType: attribute(value, 'mediaType'), data },
        },
      ],
    };
  }
  const said = words(value, scope) ?? attribute(value, 'displayName');
  const stated = attribute(value, 'value');
  const unit = attribute(value, 'unit');
  const valueString =
    said ?? (stated && [stated, unit].filter(Boolean).join(' '));
  return valueString === undefined ? {} : { valueString };
}

const INTERPRETATION =
  'http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation';

export function interpretation(
  flag: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const made = concept(flag, scope);
  // The only code system for it.
  const codings = (made?.coding as FhirJson[] | undefined)?.map((each) =>
    each.system === undefined ? { ...each, system: INTERPRETATION } : each,
  );
  return made && { ...made, coding: codings };
}

/**
 * A reference range with its meaning: a document may give one for each flag
 * (`N`, `L`, `HH`, …) that a value in it gets, and only the one for `N` is
 * normal.
 */
export function referenceRange(
  observed: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const value = childOf(observed, 'value');
  const { low, high } = bounds(value, scope);
  const single = quantity(value, scope);
  const said =
    line(childOf(observed, 'text'), scope) ??
    (single === undefined ? line(value, scope) : undefined);
  const coded = concept(value, scope)?.text;
  const text =
    said ??
    (typeof coded === 'string' ? coded : undefined) ??
    (single &&
      [single.value, single.unit]
        .filter((part) => part !== undefined)
        .join(' '));
  if (low === undefined && high === undefined && text === undefined)
    return undefined;
  const appliesTo = concept(childOf(observed, 'code'), scope);
  return {
    low: low && { ...unitMembers(attribute(value, 'unit')), ...low },
    high: high && { ...unitMembers(attribute(value, 'unit')), ...high },
    type: rangeType(childOf(observed, 'interpretationCode'), scope),
    appliesTo: appliesTo && [appliesTo],
    text,
  };
}

function rangeType(
  flag: CdaElement | undefined,
  scope: DocumentScope,
): FhirJson | undefined {
  const meaning = flag && interpretation(flag, scope);
  const own = flag && coding(flag)?.code;
  if (own === 'N')
    return {
      ...codedConcept('referencerange-meaning', 'normal'),
      text: 'Normal',
    };
  return (
    meaning && {
      ...meaning,
      text: MAPS.RangeMeaning[String(own)] ?? meaning.text ?? own,
    }
  );
}
