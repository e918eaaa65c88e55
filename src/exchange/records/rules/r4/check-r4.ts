import { isJson, type Json } from '#record-summary/fhir';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import tables from './elements.json' with { type: 'json' };

type Table = Readonly<Record<string, Readonly<Record<string, string>>>>;
/** Facts restated from HL7's definitions by scripts/fhir-elements.ts. */
const { r4: R4, others: OTHERS }: { r4: Table; others: Table } =
  lookupTable(tables);

interface R4Fault {
  /** Where, without the place in lists: `Encounter.class`. */
  element: string;
  /** Whether STU3 or R5 define the element in this form. */
  isOfOtherVersion: boolean;
  /** A number that JavaScript reads as infinite. */
  isHugeNumber?: true;
}

/**
 * What of a resource FHIR R4 does not know, or knows in another form: elements,
 * codes of required value sets, and required elements that are missing. The
 * formats of texts, and rules between elements, are not checked. Types that
 * records do not hold have no faults.
 */
export function r4Faults(resource: Json): R4Fault[] {
  const faults: R4Fault[] = [];
  walk(
    resource,
    String(resource.resourceType),
    '',
    [String(resource.resourceType)],
    faults,
  );
  return faults;
}

/** Whether R4 defines the element for the type. */
export const hasElement = (type: string, element: string): boolean =>
  R4[type]?.[element] !== undefined;

interface Element {
  /** A data type, a type of JSON, or `Resource`. */
  type: string;
  isComplex: boolean;
  isList: boolean;
  codes?: ReadonlySet<string>;
  /** `Type.element`: another version may have another type of value there. */
  place: string;
}

interface Elements {
  byName: ReadonlyMap<string, Element>;
  required: readonly string[];
}

/**
 * The elements of each type, as the table writes them: `!` required, `*` list,
 * a name in capitals or codes divided by `|`.
 */
const ELEMENTS: ReadonlyMap<string, Elements> = new Map(
  Object.entries(R4).map(([type, specs]) => [
    type,
    {
      byName: new Map(
        Object.entries(specs).map(([name, spec]) => [
          name,
          elementOf(spec, `${type}.${name}`),
        ]),
      ),
      required: Object.keys(specs).filter((name) =>
        specs[name]?.startsWith('!'),
      ),
    },
  ]),
);

function elementOf(spec: string, place: string): Element {
  const type = spec.replace(/^!/, '').replace(/\*$/, '');
  return {
    type,
    isComplex: /^[A-Z][A-Za-z]*$/.test(type),
    isList: spec.endsWith('*'),
    ...(type.includes('|') ? { codes: new Set(type.split('|')) } : {}),
    place,
  };
}

/**
 * @param place `Type.element` that holds the value, whose type in another
 *   version may differ
 * @param path the names from the resource to the value
 */
function walk(
  value: Json,
  type: string,
  place: string,
  path: string[],
  faults: R4Fault[],
): void {
  const elements = ELEMENTS.get(type);
  if (elements === undefined) return;
  for (const name in value) {
    if (name === 'resourceType' || name === 'fhir_comments') continue;
    const part = value[name];
    const isBeside = name.startsWith('_');
    const known = elements.byName.get(isBeside ? name.slice(1) : name);
    if (isBeside && known !== undefined && !known.isComplex) continue;
    const form = Array.isArray(part)
      ? 'list'
      : isJson(part)
        ? 'object'
        : 'value';
    if (known === undefined || !hasForm(known, form)) {
      const isOfOtherVersion = [type, place].some(
        (each) => OTHERS[each]?.[name] === form,
      );
      faults.push({ element: elementIn(path, name), isOfOtherVersion });
    } else if (!Array.isArray(part)) walkItem(part, known, path, name, faults);
    else
      for (const item of part as unknown[])
        walkItem(item, known, path, name, faults);
  }
  for (const name of elements.required)
    if (value[name] === undefined && value[`_${name}`] === undefined)
      faults.push({ element: elementIn(path, name), isOfOtherVersion: false });
}

const elementIn = (path: readonly string[], name: string): string =>
  `${path.join('.')}.${name}`;

function walkItem(
  item: unknown,
  known: Element,
  path: string[],
  name: string,
  faults: R4Fault[],
): void {
  const { type, isComplex, place } = known;
  if (isComplex && isJson(item)) {
    path.push(name);
    walk(
      item,
      type === 'Resource' ? String(item.resourceType) : type,
      place,
      path,
      faults,
    );
    path.pop();
  } else if (isComplex || !isRight(item, known))
    faults.push({ element: elementIn(path, name), isOfOtherVersion: false });
  else if (typeof item === 'number' && !Number.isFinite(item))
    faults.push({
      element: elementIn(path, name),
      isOfOtherVersion: false,
      isHugeNumber: true,
    });
}

/**
 * Whether a primitive value is of its type. An item of a list may be null where
 * only its extension is given.
 */
const isRight = (item: unknown, { type, codes }: Element): boolean =>
  item === null ||
  (codes === undefined ? isOf(type, item) : codes.has(String(item)));

const isOf = (type: string, item: unknown): boolean =>
  type === 'number'
    ? typeof item !== 'string' && typeof item !== 'boolean'
    : typeof item === type;

function hasForm(
  { type, isComplex, isList }: Element,
  form: 'list' | 'object' | 'value',
): boolean {
  if (isList) return form === 'list';
  return (
    form === (isComplex ? 'object' : 'value') ||
    (type === 'number' && form === 'object')
  );
}
