import { isJson, type Json, objectsOf } from './json.ts';
import { unitText } from './measures.ts';
import table from './ucum.json' with { type: 'json' };
import { fromBaseUnits, inBaseUnits, unitOf } from './ucum.ts';

const DERIVED = 'urn:medical-exchange:derived-quantity';
const PREFERRED: Readonly<Record<string, string>> = table.preferred;

/**
 * An Observation whose quantities carry, as an extension, the same amount in the one unit that `ucum.json` prefers for what they
 * measure: derived by us, beside the source's number and unit. Those that are in that unit, or in an unknown one, are as they were.
 */
export function withDerivedValues(observation: Json): Json {
  const own = withDerived(observation);
  if (!Array.isArray(own.component)) return own;
  return { ...own, component: objectsOf(own.component).map(withDerived) };
}

function withDerived(part: Json): Json {
  const { valueQuantity } = part;
  const derived = isJson(valueQuantity) ? derivedFrom(valueQuantity) : undefined;
  if (!isJson(valueQuantity) || derived === undefined) return part;
  const extension = [...objectsOf(valueQuantity.extension), { url: DERIVED, valueQuantity: derived }];
  return { ...part, valueQuantity: { ...valueQuantity, extension } };
}

function derivedFrom(quantity: Json): Json | undefined {
  const text = unitText(quantity);
  const unit = unitOf(text);
  const code = PREFERRED[unit?.dimension ?? ''];
  const preferred = code === undefined ? undefined : unitOf(code);
  if (unit === undefined || preferred === undefined || text === code || typeof quantity.value !== 'number')
    return undefined;
  const value = fromBaseUnits(inBaseUnits(quantity.value, unit), preferred);
  const { comparator } = quantity;
  return {
    value,
    unit: code,
    system: 'http://unitsofmeasure.org',
    code,
    ...(comparator !== undefined && { comparator }),
  };
}
