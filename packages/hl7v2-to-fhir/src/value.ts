import type { Observation, Quantity } from 'fhir/r4.js';
import { codedElement } from './fields.ts';
import type { ComponentReader, Hl7Segment } from './message.ts';
import { hl7TimeInFhir, type TimeReading } from './time.ts';
import { fieldUnit, unitReader } from './unescaped-units.ts';
import { hl7Decimal } from './written-decimals.ts';

type Value = Pick<Observation, Extract<keyof Observation, `value${string}`>>;

/** How an OBX segment is read. */
export interface ObservationReading {
  time: TimeReading;
  sender: string;
  /** Whether the name of a result has its sub-id (OBX-4). */
  hasSubIds?: boolean;
}

/** Types that are read; of the others the text counts. */
const READ = new Set(['NM', 'SN', 'CE', 'CWE', 'CNE', 'CF', 'DT', 'TS', 'DTM']);
/**
 * `.5` and `7.` are numbers, too. A comma may be that of thousands or of
 * decimals.
 */
const NUMBER = /^([<>]=?)?\s*([+-]?(?:\d+\.?\d*|\.\d+))$/;
const UCUM = 'http://unitsofmeasure.org';
const COMPARATORS: ReadonlySet<string> = new Set(['<', '<=', '>=', '>']);

/**
 * The value of an OBX segment (OBX-2, OBX-5, OBX-6). What its type cannot
 * express is kept as text; nothing is left out.
 */
export function observationValue(
  obx: Hl7Segment,
  reading: ObservationReading,
): Value {
  const { time, sender } = reading;
  const type = obx.value(2) ?? '';
  // Text may have any number of lines.
  const values = READ.has(type) ? obx.repetitions(5) : [];
  const [first] = values;
  if (first === undefined) return textOf(obx);
  switch (type) {
    case 'NM':
      return values.length > 1
        ? textOf(obx)
        : (numberOf(obx.texts(5)[0]?.trim(), obx, sender) ?? textOf(obx));
    case 'SN':
      return (
        (values.length === 1 ? structuredOf(first, obx, sender) : undefined) ??
        textOf(
          obx,
          values
            .map((read) => [1, 2, 3, 4, 5].map((part) => read(part)).join(''))
            .join('\n'),
        )
      );
    case 'CE':
    case 'CWE':
    case 'CNE':
    case 'CF': {
      const concepts = values.flatMap(
        (value) => codedElement(value, sender) ?? [],
      );
      const coding = concepts.flatMap((concept) => concept.coding ?? []);
      const text = concepts.flatMap((concept) => concept.text ?? []).join('\n');
      if (concepts.length === 0) return {};
      return {
        valueCodeableConcept: {
          ...(coding.length > 0 ? { coding } : {}),
          ...(text === '' ? {} : { text }),
        },
      };
    }
    case 'DT':
    case 'TS':
    case 'DTM': {
      const valueDateTime = hl7TimeInFhir(first(1), time);
      return valueDateTime === undefined || values.length > 1
        ? textOf(obx)
        : { valueDateTime };
    }
    default:
      return textOf(obx);
  }
}

/**
 * A number that is kept as text is followed by its unit; see also `unitNote`.
 */
function textOf(obx: Hl7Segment, text = obx.texts(5).join('\n')): Value {
  const valueString = text.trim();
  if (valueString === '' || valueString === '""') return {};
  const unit = unitOf(obx);
  const isNumber = /^[^\p{L}\n]*\d[^\p{L}\n]*$/u.test(valueString);
  return {
    valueString:
      unit !== undefined && isNumber ? `${valueString} ${unit}` : valueString,
  };
}

const unitOf = (obx: Hl7Segment): string | undefined => fieldUnit(obx, 6);

/** The unit of a value that does not contain it, such as a word. */
export function unitNote(value: Value, obx: Hl7Segment): string | undefined {
  const unit = unitOf(obx);
  const isWithout = unit !== undefined && Object.keys(value).length > 0;
  return isWithout &&
    !JSON.stringify(value).includes(JSON.stringify(unit).slice(1, -1))
    ? `Unit: ${unit}`
    : undefined;
}

function numberOf(
  text: string | undefined,
  obx: Hl7Segment,
  sender: string,
): Value | undefined {
  const match = NUMBER.exec(text ?? '');
  return match === null
    ? undefined
    : { valueQuantity: quantity(match[2] ?? '', obx, sender, match[1]) };
}

/**
 * A structured numeric: comparator, number, separator, number: `>^90`,
 * `10^-^20`, `1^:^128`.
 */
function structuredOf(
  read: ComponentReader,
  obx: Hl7Segment,
  sender: string,
): Value | undefined {
  const comparator = read(1) ?? '';
  const from = read(2);
  const separator = read(3);
  const to = read(4);
  const isPlain = (text: string | undefined): text is string =>
    NUMBER.test(text ?? '') && !/^[<>]/.test(text ?? '');
  if (!isPlain(from) || read(5) !== undefined) return undefined;
  if (separator === undefined && to === undefined) {
    if (comparator === '' || comparator === '=')
      return { valueQuantity: quantity(from, obx, sender) };
    return COMPARATORS.has(comparator)
      ? { valueQuantity: quantity(from, obx, sender, comparator) }
      : undefined;
  }
  if (comparator !== '' || !isPlain(to)) return undefined;
  if (separator === '-')
    return {
      valueRange: {
        low: quantity(from, obx, sender),
        high: quantity(to, obx, sender),
      },
    };
  if (separator === ':' || separator === '/')
    return {
      valueRatio: {
        numerator: hl7Decimal('value', from),
        denominator: hl7Decimal('value', to),
      },
    };
  return undefined;
}

function quantity(
  number: string,
  obx: Hl7Segment,
  sender: string,
  comparator?: string,
): Quantity {
  const unit = unitOf(obx);
  const codings = codedElement(unitReader(obx, 6), sender)?.coding ?? [];
  // Senders of codes of their own put UCUM's beside them.
  const coding = codings.find(({ system: of }) => of === UCUM) ?? codings[0];
  // A code of the sender's own that is the unit itself adds nothing to it.
  const { system, code } =
    coding?.system === UCUM || coding?.code !== unit ? { ...coding } : {};
  return {
    ...hl7Decimal('value', number),
    ...(comparator === undefined
      ? {}
      : { comparator: comparator as Quantity['comparator'] }),
    ...(unit === undefined ? {} : { unit }),
    ...(code === undefined ? {} : { system, code }),
  };
}
