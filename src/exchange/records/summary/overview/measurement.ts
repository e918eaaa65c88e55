import { isJson, type Json, objectsOf } from '../../rules/json.ts';
import { codesOf, conceptText } from '../../rules/words.ts';
import { BLOOD_PRESSURE, VITAL_SIGNS } from '../observation-kind.ts';
import { observationName, valueIn } from '../observation-value.ts';
import { componentOf } from '../vital-signs.ts';

/** A value as the overview shows it; `amount` only if it can be compared with others of the same unit. */
export interface Measurement {
  text: string;
  unit: string;
  amount?: number;
}

/** The value of an Observation, including its components; undefined if it has none. */
export function measurementOf(content: Json): Measurement | undefined {
  const [systolic, diastolic] = [BLOOD_PRESSURE.systolic, BLOOD_PRESSURE.diastolic].map((code) =>
    componentOf(content, code),
  );
  const parts = objectsOf(content.component);
  const isPressure = systolic !== undefined || diastolic !== undefined;
  const others = isPressure ? parts.filter((part) => part !== systolic && part !== diastolic) : parts;
  const own = isPressure ? pressure(systolic, diastolic) : single(content);
  const texts = [
    ...(own === undefined ? [] : [own.text]),
    ...others.flatMap((part) => {
      const value = single(part);
      return value === undefined ? [] : [`${conceptText(part.code) ?? 'unnamed'} ${value.text}`];
    }),
  ];
  if (texts.length === 0) return undefined;
  return { ...(others.length === 0 && own), unit: own?.unit ?? '', text: texts.join(', ') };
}

function single(of: Json): Measurement | undefined {
  const value = of.dataAbsentReason === undefined ? valueIn(of) : undefined;
  if (value === undefined) return undefined;
  const quantity = isJson(of.valueQuantity) ? of.valueQuantity : {};
  const isPlain = typeof quantity.value === 'number' && quantity.comparator === undefined;
  return {
    text: `${value.value} ${value.unit}`.trim(),
    unit: value.unit,
    ...(isPlain && { amount: Number(quantity.value) }),
  };
}

function pressure(systolic: Json | undefined, diastolic: Json | undefined): Measurement | undefined {
  const [over, under] = [systolic, diastolic].map((part) => (part === undefined ? undefined : valueIn(part)));
  const unit = over?.unit || under?.unit || '';
  if (over === undefined && under === undefined) return undefined;
  return { text: `${over?.value ?? '?'}/${under?.value ?? '?'} ${unit}`.trim(), unit };
}

/** Name and identity of what was measured: the flow sheet's columns under their title, others by code, else by name. */
export function measuredThing(content: Json): { key: string; name: string } {
  const codes = codesOf(content.code);
  const column = VITAL_SIGNS.find((each) => each.codes.some((code) => codes.includes(code)));
  if (column !== undefined) return { key: column.title, name: fullName(column) };
  if (BLOOD_PRESSURE.panel.some((code) => codes.includes(code)))
    return { key: BLOOD_PRESSURE.panel[0] ?? '', name: PRESSURE_NAME };
  const name = conceptText(content.code) ?? observationName(content);
  return { key: codes[0] ?? name.toLowerCase(), name };
}

export const PRESSURE_NAME = 'Blood pressure';
const fullName = ({ title }: { title: string }): string => title.replace('Temp.', 'Temperature');
const ORDER = [PRESSURE_NAME, ...VITAL_SIGNS.map(fullName)];

/** The place of a vital sign among others, by its name: as in the flow sheet, others at the end. */
export const vitalPlace = (name: string): number =>
  ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length;

/** How a value compares with the one before: `up from 70 kg on 3 Jan 2023`. */
export function trend(now: Measurement, before: Measurement, day: string): string {
  if (now.text === before.text) return `same on ${day}`;
  if (now.amount === undefined || before.amount === undefined || now.unit !== before.unit)
    return `before: ${before.text} on ${day}`;
  return `${now.amount > before.amount ? 'up' : 'down'} from ${before.text} on ${day}`;
}
