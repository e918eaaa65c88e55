import { type Json, objectsOf } from '../rules/json.ts';
import { codesOf } from './words.ts';

/** Columns of the flow sheet, by the LOINC codes of what stands in them, with the unit that goes without saying. */
export const VITAL_SIGNS: readonly { title: string; codes: readonly string[]; unit: string }[] = [
  { title: 'Heart rate', codes: ['8867-4'], unit: '/min' },
  { title: 'Breaths', codes: ['9279-1'], unit: '/min' },
  { title: 'Temp.', codes: ['8310-5', '8331-1', '8332-9', '8328-7'], unit: '°C' },
  { title: 'SpO2', codes: ['59408-5', '2708-6'], unit: '%' },
  { title: 'Height', codes: ['8302-2', '8306-3', '8308-9'], unit: 'cm' },
  { title: 'Weight', codes: ['29463-7', '3141-9'], unit: 'kg' },
  { title: 'BMI', codes: ['39156-5'], unit: 'kg/m2' },
];
export const BLOOD_PRESSURE = { panel: ['85354-9', '55284-4'], systolic: '8480-6', diastolic: '8462-4' };

const vitalCodes = new Set([
  ...VITAL_SIGNS.flatMap(({ codes }) => codes),
  ...BLOOD_PRESSURE.panel,
  BLOOD_PRESSURE.systolic,
  BLOOD_PRESSURE.diastolic,
]);

const OBSERVED = /^_?(?:value|component|dataAbsentReason|interpretation|note)/;
const REPORTED = /^_?(?:result|conclusion|presentedForm|imagingStudy|media)/;
/** Why there is nothing (yet), which a reader must know. */
const EXPLAINS = ['registered', 'cancelled'];

/**
 * An Observation without value, or a DiagnosticReport without result: a panel whose members stand for themselves, an
 * appointment that was filed as an observation. It stays in the record; a line of it would say nothing, first of all.
 */
export const isEmpty = (content: Json): boolean =>
  !EXPLAINS.includes(String(content.status)) &&
  !Object.keys(content).some((name) =>
    (content.resourceType === 'DiagnosticReport' ? REPORTED : OBSERVED).test(name),
  );

/** Which section an Observation belongs to: by its category, else by its code. */
export function categoryOf({ category, code }: Json): 'laboratory' | 'vital-signs' | 'other' {
  const categories = objectsOf(category).flatMap(codesOf);
  if (categories.includes('vital-signs')) return 'vital-signs';
  if (categories.includes('laboratory') || categories.includes('LAB')) return 'laboratory';
  if (categories.length > 0) return 'other';
  return codesOf(code).some((each) => vitalCodes.has(each)) ? 'vital-signs' : 'laboratory';
}
