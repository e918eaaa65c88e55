import { type Json, objectsOf } from '../rules/json.ts';
import { codesOf } from '../rules/words.ts';

/** Columns of the flow sheet: LOINC codes of their values, and the unit given in the column title. */
export const VITAL_SIGNS: readonly { title: string; codes: readonly string[]; unit: string }[] = [
  { title: 'Heart rate', codes: ['8867-4'], unit: '/min' },
  { title: 'Breaths', codes: ['9279-1'], unit: '/min' },
  { title: 'Temp.', codes: ['8310-5', '8331-1', '8332-9', '8328-7'], unit: '°C' },
  { title: 'SpO2', codes: ['59408-5', '2708-6'], unit: '%' },
  { title: 'Height', codes: ['8302-2', '8306-3', '8308-9'], unit: 'cm' },
  { title: 'Weight', codes: ['29463-7', '3141-9'], unit: 'kg' },
  { title: 'BMI', codes: ['39156-5'], unit: 'kg/m²' },
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
/** Statuses that explain why there is no value (yet); such resources are shown. */
const EXPLANATORY_STATUSES = ['registered', 'cancelled'];

/**
 * Whether an Observation has no value, or a DiagnosticReport no result: a panel whose members are listed themselves, or an
 * appointment filed as an observation. It stays in the record, but the summary does not list it.
 */
export const isEmpty = (content: Json): boolean =>
  !EXPLANATORY_STATUSES.includes(String(content.status)) &&
  !Object.keys(content).some((name) =>
    (content.resourceType === 'DiagnosticReport' ? REPORTED : OBSERVED).test(name),
  );

/** The section an Observation belongs to, by its category, otherwise by its code. */
export function categoryOf({ category, code }: Json): 'laboratory' | 'vital-signs' | 'other' {
  const categories = objectsOf(category).flatMap(codesOf);
  if (categories.includes('vital-signs')) return 'vital-signs';
  if (categories.includes('laboratory') || categories.includes('LAB')) return 'laboratory';
  if (categories.length > 0) return 'other';
  return codesOf(code).some((each) => vitalCodes.has(each)) ? 'vital-signs' : 'laboratory';
}
