import type { Observation, Quantity } from 'fhir/r4.js';
import { conceptOf } from './concept.ts';
import type { ComponentReader, Hl7Segment } from './message.ts';
import { fhirTime, type TimeReading } from './time.ts';

type Value = Pick<
  Observation,
  'valueQuantity' | 'valueCodeableConcept' | 'valueString' | 'valueDateTime' | 'valueRange' | 'valueRatio'
>;

/** How an OBX segment is read. */
export interface ObservationReading {
  time: TimeReading;
  sender: string;
}

/** Types that are read; of the others the text counts. */
const READ = new Set(['NM', 'SN', 'CE', 'CWE', 'CNE', 'CF', 'DT', 'TS', 'DTM']);
const NUMBER = /^([<>]=?)?\s*([+-]?\d+(?:\.\d+)?)$/;
const COMPARATORS: ReadonlySet<string> = new Set(['<', '<=', '>=', '>']);

/** The value of an OBX segment (OBX-2, OBX-5, OBX-6). What its type cannot express is kept as text; nothing is left out. */
export function observationValue(obx: Hl7Segment, { time, sender }: ObservationReading): Value {
  const type = obx.value(2) ?? '';
  // Text may have any number of lines.
  const values = READ.has(type) ? obx.repetitions(5) : [];
  const [first] = values;
  if (first === undefined) return textOf(obx);
  switch (type) {
    case 'NM':
      return values.length > 1 ? textOf(obx) : (numberOf(first(1), obx) ?? textOf(obx));
    case 'SN':
      return values.length > 1 ? textOf(obx) : (structuredOf(first, obx) ?? textOf(obx));
    case 'CE':
    case 'CWE':
    case 'CNE':
    case 'CF': {
      const concepts = values.flatMap((value) => conceptOf(value, sender) ?? []);
      const coding = concepts.flatMap((concept) => concept.coding ?? []);
      const text = concepts.flatMap((concept) => concept.text ?? []).join('\n');
      if (concepts.length === 0) return {};
      return {
        valueCodeableConcept: { ...(coding.length > 0 ? { coding } : {}), ...(text === '' ? {} : { text }) },
      };
    }
    case 'DT':
    case 'TS':
    case 'DTM': {
      const valueDateTime = fhirTime(first(1), time);
      return valueDateTime === undefined || values.length > 1 ? textOf(obx) : { valueDateTime };
    }
    default:
      return textOf(obx);
  }
}

function textOf(obx: Hl7Segment): Value {
  const valueString = obx.texts(5).join('\n').trim();
  return valueString === '' || valueString === '""' ? {} : { valueString };
}

function numberOf(text: string | undefined, obx: Hl7Segment): Value | undefined {
  const match = NUMBER.exec(text ?? '');
  return match === null ? undefined : { valueQuantity: quantity(match[2] ?? '', obx, match[1]) };
}

/** A structured numeric: comparator, number, separator, number: `>^90`, `10^-^20`, `1^:^128`. */
function structuredOf(read: ComponentReader, obx: Hl7Segment): Value | undefined {
  const [comparator = '', from, separator, to] = [read(1), read(2), read(3), read(4)];
  const isPlain = (text: string | undefined): text is string =>
    NUMBER.test(text ?? '') && !/^[<>]/.test(text ?? '');
  if (!isPlain(from)) return undefined;
  if (separator === undefined && to === undefined) {
    if (comparator === '' || comparator === '=') return { valueQuantity: quantity(from, obx) };
    return COMPARATORS.has(comparator) ? { valueQuantity: quantity(from, obx, comparator) } : undefined;
  }
  if (comparator !== '' || !isPlain(to)) return undefined;
  if (separator === '-') return { valueRange: { low: quantity(from, obx), high: quantity(to, obx) } };
  if (separator === ':' || separator === '/')
    return { valueRatio: { numerator: { value: Number(from) }, denominator: { value: Number(to) } } };
  return undefined;
}

function quantity(number: string, obx: Hl7Segment, comparator?: string): Quantity {
  const [code, text, system] = [obx.value(6, 1), obx.value(6, 2), obx.value(6, 3)];
  const unit = text ?? code;
  return {
    value: Number(number),
    ...(comparator === undefined ? {} : { comparator: comparator as Quantity['comparator'] }),
    ...(unit === undefined ? {} : { unit }),
    ...(system === 'UCUM' && code !== undefined ? { system: 'http://unitsofmeasure.org', code } : {}),
  };
}
