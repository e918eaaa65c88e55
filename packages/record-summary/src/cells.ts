import { directions, doseText } from './directions.ts';
import { localTimeAt } from './fhir/dates.ts';
import type {
  ElementPath,
  ReceivedResource,
  ResourceType,
} from './fhir/elements.ts';
import { isJson, type Json, objectsOf, textOf } from './fhir/json.ts';
import {
  amountText,
  classText,
  conceptText,
  momentText,
  periodText,
  referenceText,
  statusText,
  unique,
} from './fhir/words.ts';
import type { SummaryCell } from './parts.ts';
import type { Lookup } from './section.ts';

type Said = string | readonly string[] | SummaryCell | undefined;

/** What a cell says of a resource of the types; nothing: undefined or ''. */
export type Cell<T extends ResourceType> = (
  content: ReceivedResource<T>,
  lookup: Lookup,
) => Said;

/** An element as text; undefined if it is absent, or of an unexpected shape. */
type Form = (value: unknown) => string | undefined;

/** What one element says in a form: the first of the elements that says it. */
const firstIn =
  (form: Form) =>
  <T extends ResourceType>(...paths: readonly ElementPath<T>[]): Cell<T> =>
  (content) =>
    paths.map((path) => form(valueAt(content, path))).find(isSaid);

const everyIn =
  (form: Form) =>
  <T extends ResourceType>(path: ElementPath<T>): Cell<T> =>
  (content) => {
    const texts = unique(valuesAt(content, path).map(form));
    return texts.length === 0 ? undefined : texts;
  };

/**
 * Cells that say the first of some elements that says anything. Of a list on the
 * way, the first item counts: `performer.actor`.
 */
export const say = {
  amount: firstIn(amountText),
  class: firstIn(classText),
  concept: firstIn(conceptText),
  day: firstIn((value) => periodText(value)),
  directions: firstIn(directions),
  dose: firstIn(doseText),
  /** Also a time of day whose offset is not known. */
  moment:
    <T extends ResourceType>(...paths: readonly ElementPath<T>[]): Cell<T> =>
    (content) =>
      paths
        .map((path) =>
          momentText(localTimeAt(content, path) ?? valueAt(content, path)),
        )
        .find(isSaid),
  reference: firstIn(referenceText),
  /** A period without an end goes on. */
  since: firstIn((value) => periodText(value, true)),
  status: firstIn(statusText),
  text: firstIn(textOf),
};

/** Cells that say every item of a list, or an element of every item. */
export const sayEach = {
  concept: everyIn(conceptText),
  reference: everyIn(referenceText),
  text: everyIn(textOf),
};

/** What the first of the cells says that says anything. */
export const either =
  <T extends ResourceType>(...cells: readonly Cell<T>[]): Cell<T> =>
  (content, lookup) =>
    cells.map((cell) => cell(content, lookup)).find(isSaid);

/** What all of the cells say, one after the other; an alert stands alone. */
export const joinedCells =
  <T extends ResourceType>(...cells: readonly Cell<T>[]) =>
  (content: ReceivedResource<T>, lookup: Lookup): string | SummaryCell => {
    const said = cells.map((cell) => cell(content, lookup));
    return (
      said.find(isCell) ??
      unique(said.flatMap((each) => (isCell(each) ? [] : each))).join('; ')
    );
  };

const isSaid = (said: Said): boolean => said !== undefined && said !== '';

const isCell = (said: Said): said is SummaryCell => isJson(said);

function valueAt(content: Json, path: string): unknown {
  const [element = '', member] = path.split('.');
  const value = content[element];
  return member === undefined ? value : objectsOf(value)[0]?.[member];
}

function valuesAt(content: Json, path: string): readonly unknown[] {
  const [element = '', member] = path.split('.');
  const items = objectsOf(content[element]);
  return member === undefined ? items : items.map((item) => item[member]);
}
