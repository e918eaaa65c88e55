import { countText } from '../count-text.ts';
import { directions } from '../directions.ts';
import { clinicalTime } from '../fhir/dates.ts';
import { isJson, type Json, objectsOf, textOf } from '../fhir/json.ts';
import { amountText, firstDay, statusText, unique } from '../fhir/words.ts';
import {
  isCurrent,
  isOrdered,
  medicationName,
  prescriptionStatus,
} from '../medications.ts';
import type { OverviewItem } from '../parts.ts';
import { markFuture, type SummaryEntry } from '../section.ts';
import {
  type Collect,
  isOfLastYear,
  LeftOutCounts,
  monthsBefore,
  OtherStatements,
  referencesOf,
} from './block-rule.ts';

/**
 * Statuses that speak against a prescription that another source has as
 * current; a completed one is often only an earlier course.
 */
const NOT_CURRENT = ['cancelled', 'entered-in-error', 'not-taken', 'stopped'];
const UNNAMED = 'Unnamed medication';
/** Dispenses with these statuses gave the patient nothing. */
const NOT_DISPENSED = ['cancelled', 'declined', 'entered-in-error', 'stopped'];
/** With these statuses, the patient does not have the drug yet. */
const NOT_YET_DISPENSED = ['in-progress', 'on-hold', 'preparation'];

/**
 * What was prescribed under one name, with its strength and form: directions
 * belong to one strength.
 */
interface Product {
  name: string;
  drug: string;
  directions: string[];
  statuses: string[];
  newest: string;
  orders: SummaryEntry[];
}

/**
 * Current medications by product, those of one drug together; what was
 * dispensed in the last year without a current prescription is listed too.
 */
export const collectMedications: Collect = (context) => {
  const products = new Map<string, Product>();
  const dispensed = new Map<string, { item: OverviewItem; count: number }>();
  const others = new LeftOutCounts();
  const statements = new OtherStatements();

  function prescribe(entry: SummaryEntry, name: string): void {
    const { content } = entry;
    const title = productName(name);
    const product = products.get(title.toLowerCase()) ?? {
      name: title,
      drug: drugName(name).toLowerCase(),
      directions: [],
      statuses: [],
      orders: [],
      newest: newestText(content, context.madeAt),
    };
    products.set(title.toLowerCase(), product);
    product.orders.push(entry);
    const how = directions(
      withoutStart(content.dosageInstruction ?? content.dosage),
    );
    product.directions = unique([...product.directions, how]);
    const status =
      prescriptionStatus(content).toLowerCase() || 'status unknown';
    if (status !== 'active')
      product.statuses = unique([...product.statuses, status]);
  }

  function dispense({ content }: SummaryEntry, name: string): void {
    const key = drugName(name).toLowerCase();
    const known = dispensed.get(key);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const day =
      firstDay(content, 'whenHandedOver', 'whenPrepared') ?? 'undated';
    const supply = unique([
      amountText(content.quantity),
      amountText(content.daysSupply),
    ]).join(', ');
    const isPending = NOT_YET_DISPENSED.includes(String(content.status));
    const word = isPending
      ? `not yet dispensed (${String(content.status)})`
      : 'dispensed';
    const detail = `${word} ${day}${supply && ` (${supply})`}; no current prescription was delivered`;
    dispensed.set(key, {
      item: { text: name, detail, of: referencesOf([{ content }]) },
      count: 1,
    });
  }

  return {
    take: (entry) => {
      const type = textOf(entry.content.resourceType);
      const name = medicationName(entry.content, context.lookup) ?? UNNAMED;
      if (type === 'MedicationAdministration') {
        const given = ['entered-in-error', 'not-done'].includes(
          String(entry.content.status),
        )
          ? 'not given'
          : 'given';
        others.add(`medication ${given}`, `medications ${given}`);
      } else if (type === 'MedicationDispense') {
        const isRecent =
          isOfLastYear(entry, context) &&
          !NOT_DISPENSED.includes(String(entry.content.status));
        if (isRecent) dispense(entry, name);
        else others.add('earlier or cancelled dispense');
      } else if (isCurrent(entry)) prescribe(entry, name);
      else if (!isOrdered(entry.content))
        others.add(
          'proposed or optional medication',
          'proposed or optional medications',
        );
      else {
        others.add('past medication');
        const { status } = entry.content;
        if (NOT_CURRENT.includes(String(status)))
          statements.note(
            name === UNNAMED ? undefined : drugName(name),
            entry,
            statusText(status)?.toLowerCase() ?? '',
          );
      }
    },
    collected: () => {
      const drugs = [...products.values()].map(({ drug }) => drug);
      const unprescribed: OverviewItem[] = [];
      for (const [key, { item, count }] of dispensed) {
        if (!drugs.includes(key)) unprescribed.push(item);
        others.add(
          'further dispense',
          'further dispenses',
          drugs.includes(key) ? count : count - 1,
        );
      }
      const together = [...products.values()].sort(
        (left, right) => drugs.indexOf(left.drug) - drugs.indexOf(right.drug),
      );
      return {
        items: [
          ...together.map((each) =>
            productItem(each, statements.about(each.drug, each.orders)),
          ),
          ...unprescribed,
        ],
        none: others.isEmpty
          ? undefined
          : 'None of the delivered medications is current.',
        others,
      };
    },
  };
};

const productItem = (
  { name, directions: how, statuses, newest, orders }: Product,
  otherwise: string | undefined,
): OverviewItem => ({
  of: referencesOf(orders),
  text: name,
  detail: unique([
    // `dose 1` beside `dose 1 once a day` says nothing.
    how
      .filter(
        (each) => !how.some((other) => other !== each && other.includes(each)),
      )
      .join('; '),
    // What a document lists without a status says nothing beside an active
    // order.
    ...statuses.filter(
      (status) => status !== 'unknown' || statuses.length === orders.length,
    ),
    orders.length === 1 ? newest : `${entriesOf(orders)}, newest ${newest}`,
    otherwise,
  ]).join('; '),
});

/**
 * Without the number of the FDA's application, which RxNorm puts before some
 * names.
 */
const productName = (name: string): string => name.replace(/^NDA\d+\s+/i, '');

/**
 * The day of an order, with its age if it is older than a year: `16 Sep 1993
 * (33 years ago)`.
 */
function newestText(content: Json, madeAt: Date): string {
  const day = firstDay(
    content,
    'authoredOn',
    'effectiveDateTime',
    'effectivePeriod',
    'dateAsserted',
  );
  if (day === undefined) return 'undated';
  const { sortDate } = clinicalTime(content);
  const months =
    [...Array(200).keys()].findLast(
      (years) => sortDate <= monthsBefore(madeAt, 12 * years),
    ) ?? 0;
  return months === 0 || sortDate === ''
    ? markFuture(day, madeAt)
    : `${day} (${countText(months, 'year')} ago)`;
}

/**
 * The directions without the day from which they hold, which is the order's
 * own.
 */
const withoutStart = (dosages: unknown): Json[] =>
  objectsOf(dosages).map((dosage) => {
    const repeat =
      isJson(dosage.timing) && isJson(dosage.timing.repeat)
        ? dosage.timing.repeat
        : {};
    if (!isJson(repeat.boundsPeriod) || repeat.boundsPeriod.end !== undefined)
      return dosage;
    const { boundsPeriod, ...rest } = repeat;
    return { ...dosage, timing: { ...(dosage.timing as Json), repeat: rest } };
  });

/**
 * An order, and that the drug is taken, are two things even if they agree: `1
 * order and 1 statement of use`.
 */
function entriesOf(entries: readonly SummaryEntry[]): string {
  const stated = entries.filter(
    ({ content }) => content.resourceType === 'MedicationStatement',
  ).length;
  const ordered = entries.length - stated;
  const texts = [
    countText(ordered, 'order'),
    countText(stated, 'statement of use', 'statements of use'),
  ];
  return texts.filter((text) => !text.startsWith('0 ')).join(' and ');
}

/**
 * What precedes the name in RxNorm's style: `24 HR`, `1 ML`, `NDA020503 200
 * ACTUAT`.
 */
const LEADING = /^(?:NDA\d+\s+)?(?:[\d.,]+\s*(?:HR|ML|ACTUAT)\s+)*/i;
/** The first strength, and all that follows. */
const STRENGTH =
  /\s+[\d.,]+\s*(?:MG|MCG|UG|µG|G|KG|ML|L|MEQ|MMOL|UNT|UNIT|UNITS|IU|ACTUAT|HR|%|\[)(?![\p{L}]).*$/iu;

/**
 * The drug in a medication's name, for grouping: `24 HR Metformin hydrochloride
 * 500 MG Extended Release Oral Tablet` → `Metformin hydrochloride`. A
 * combination keeps all its ingredients; a name without a strength, or a pack,
 * stays whole.
 */
export function drugName(name: string): string {
  if (name.includes('{')) return name;
  const ingredients = name.split(' / ').map((part) => {
    const plain = part.replace(LEADING, '').replace(STRENGTH, '').trim();
    return plain === '' || !/\p{L}/u.test(plain) ? part.trim() : plain;
  });
  return ingredients.join(' / ');
}
