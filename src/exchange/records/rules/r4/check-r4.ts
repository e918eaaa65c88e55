import { isJson, type Json } from '../json.ts';
import tables from './elements.json' with { type: 'json' };

type Table = Readonly<Record<string, Readonly<Record<string, string>>>>;
/** Facts restated from HL7's definitions by scripts/fhir-elements.ts. */
const { r4: R4, others: OTHERS }: { r4: Table; others: Table } = tables;

interface R4Fault {
  /** Where, without the place in lists: `Encounter.class`. */
  element: string;
  /** Whether STU3 or R5 define the element in this form. */
  isOfOtherVersion: boolean;
}

/**
 * What of a resource FHIR R4 does not know, or knows in another form: elements, codes of required value sets, and required
 * elements that are missing. The formats of texts, and rules between elements, are not checked. Types that records do not hold
 * have no faults.
 */
export function r4Faults(resource: Json): R4Fault[] {
  const faults: R4Fault[] = [];
  walk(resource, String(resource.resourceType), '', String(resource.resourceType), faults);
  return faults;
}

/** Whether a resource is written in another version of FHIR than R4. */
export const isOfOtherVersion = (resource: Json): boolean =>
  r4Faults(resource).some((fault) => fault.isOfOtherVersion);

/** @param place `Type.element` that holds the value, whose type in another version may differ */
function walk(value: Json, type: string, place: string, path: string, faults: R4Fault[]): void {
  const elements = R4[type];
  if (elements === undefined) return;
  for (const [name, part] of Object.entries(value)) {
    if (name === 'resourceType' || name === 'fhir_comments') continue;
    const spec = elements[name.replace(/^_/, '')];
    if (name.startsWith('_') && spec !== undefined && !isComplex(spec)) continue;
    const form = Array.isArray(part) ? 'list' : isJson(part) ? 'object' : 'value';
    const element = `${path}.${name}`;
    if (spec === undefined || !hasForm(spec, form)) {
      const isOfOtherVersion = [type, place].some((each) => OTHERS[each]?.[name] === form);
      faults.push({ element, isOfOtherVersion });
      continue;
    }
    for (const item of Array.isArray(part) ? (part as unknown[]) : [part])
      checkItem(item, { spec, place: `${type}.${name}`, element }, faults);
  }
  for (const [name, spec] of Object.entries(elements))
    if (spec.startsWith('!') && value[name] === undefined && value[`_${name}`] === undefined)
      faults.push({ element: `${path}.${name}`, isOfOtherVersion: false });
}

function checkItem(
  item: unknown,
  { spec, place, element }: { spec: string; place: string; element: string },
  faults: R4Fault[],
): void {
  const type = bare(spec);
  if (isComplex(spec)) {
    if (!isJson(item)) faults.push({ element, isOfOtherVersion: false });
    else walk(item, type === 'Resource' ? String(item.resourceType) : type, place, element, faults);
    return;
  }
  // An item of a list may be null where only its extension is given.
  const isRight =
    item === null || (type.includes('|') ? type.split('|').includes(String(item)) : isOf(type, item));
  if (!isRight) faults.push({ element, isOfOtherVersion: false });
}

const isOf = (type: string, item: unknown): boolean =>
  type === 'number' ? typeof item !== 'string' && typeof item !== 'boolean' : typeof item === type;

const bare = (spec: string): string => spec.replace(/^!/, '').replace(/\*$/, '');
const isComplex = (spec: string): boolean => /^!?[A-Z][A-Za-z]*\*?$/.test(spec);

function hasForm(spec: string, form: 'list' | 'object' | 'value'): boolean {
  if (spec.endsWith('*')) return form === 'list';
  return form === (isComplex(spec) ? 'object' : 'value') || (bare(spec) === 'number' && form === 'object');
}
