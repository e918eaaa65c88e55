import { directions } from '../directions.ts';
import { clinicalTime } from '../fhir/dates.ts';
import { isJson, type Json, objectsOf, textOf } from '../fhir/json.ts';
import { amountText, firstDay, statusText, unique } from '../fhir/words.ts';
import {
  isCurrent,
  isOrdered,
  medicationName,
  prescriptionStatus,
  productCodes,
} from '../medications.ts';
import type { OverviewItem } from '../parts.ts';
import type { Lookup, SummaryEntry } from '../section.ts';
import {
  type Collect,
  howLongAgo,
  isOfLastYear,
  LeftOutCounts,
  monthsBefore,
  OtherStatements,
  referencesOf,
  withAge,
  yearsAgo,
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
  /** What its orders, statements and fills have in common. */
  key: string;
  name: string;
  drug: string;
  directions: string[];
  statuses: string[];
  /** Orders, and statements that it is taken; the newest order first. */
  entries: [SummaryEntry, ...SummaryEntry[]];
}

/** Newest first. */
interface Fill {
  product: string;
  drug: string;
  name: string;
  content: Json;
}

/**
 * Current medications, a line for each product, those of one drug together: its
 * directions, when it was ordered and when last filled. What was dispensed in
 * the last year without a current prescription is listed too.
 */
export const collectMedications: Collect = (context) => {
  const { madeAt } = context;
  const products = new Map<string, Product>();
  const keyOf = productKeys(context.lookup);
  const isRecent = isOfLastYear(context);
  const fills: Fill[] = [];
  const others = new LeftOutCounts();
  const statements = new OtherStatements();
  let dispenses = 0;

  function prescribe(entry: SummaryEntry, name: string): void {
    const { content } = entry;
    const title = productName(name);
    const key = keyOf(content, name);
    const product = products.get(key);
    const how = directions(
      withoutStart(content.dosageInstruction ?? content.dosage, madeAt),
    );
    const status =
      prescriptionStatus(content).toLowerCase() || 'status unknown';
    products.set(key, {
      key,
      name: product?.name ?? title,
      drug: drugName(name).toLowerCase(),
      directions: unique([...(product?.directions ?? []), how]),
      statuses: unique([
        ...(product?.statuses ?? []),
        status === 'active' ? undefined : status,
      ]),
      entries: product === undefined ? [entry] : [...product.entries, entry],
    });
  }

  function dispense(entry: SummaryEntry, name: string): void {
    const { content } = entry;
    dispenses += 1;
    if (NOT_DISPENSED.includes(String(content.status))) return;
    fills.push({
      product: keyOf(content, name),
      drug: drugName(name).toLowerCase(),
      name,
      content,
    });
  }

  /** The last one of each drug without a prescription, of the last year. */
  function unprescribed(drugs: ReadonlySet<string>): Fill[] {
    const seen = new Set(drugs);
    return fills.filter(({ drug, content }) => {
      if (seen.has(drug) || !isRecent(content)) return false;
      seen.add(drug);
      return true;
    });
  }

  /** A fill of another strength counts only where there is one product. */
  function lastFill(product: Product, all: readonly Product[]) {
    const done = fills.filter(
      ({ content }) => !NOT_YET_DISPENSED.includes(String(content.status)),
    );
    const isOnly = all.filter(({ drug }) => drug === product.drug).length === 1;
    return (
      done.find((fill) => fill.product === product.key) ??
      (isOnly ? done.find(({ drug }) => drug === product.drug) : undefined)
    );
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
      } else if (type === 'MedicationDispense') dispense(entry, name);
      else if (isCurrent(entry)) prescribe(entry, name);
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
      const all = [...products.values()];
      const drugs = all.map(({ drug }) => drug);
      const together = all.toSorted(
        (left, right) => drugs.indexOf(left.drug) - drugs.indexOf(right.drug),
      );
      const filled = together.map((product) => lastFill(product, all));
      const alone = unprescribed(new Set(drugs));
      const named = new Set([...filled, ...alone].filter(Boolean));
      others.add(
        'further dispense',
        'further dispenses',
        dispenses - named.size,
      );
      return {
        items: [
          ...together.map((product, index) =>
            productItem(
              product,
              dispenses === 0 ? 'unknown' : filled[index]?.content,
              statements.about(product.drug, product.entries),
              madeAt,
            ),
          ),
          ...alone.map(dispensedItem),
        ],
        none: others.isEmpty
          ? undefined
          : 'None of the delivered medications is current.',
        others,
      };
    },
  };
};

/**
 * Gives each product one key: its name in small letters, or the one of an equal
 * RxNorm code whose name has a word of the drug in common, as when a document
 * writes a drug in other words than its order. A code that names another drug
 * than the words beside it unites nothing.
 */
function productKeys(lookup: Lookup): (content: Json, name: string) => string {
  const keys = new Set<string>();
  const byCode = new Map<string, string>();
  return (content, name) => {
    const own = productName(name).toLowerCase();
    const codes = productCodes(content, lookup);
    const key = keys.has(own)
      ? own
      : (codes
          .map((code) => byCode.get(code))
          .find((other) => other !== undefined && sharesWord(own, other)) ??
        own);
    keys.add(key);
    for (const code of codes) if (!byCode.has(code)) byCode.set(code, key);
    return key;
  };
}

const wordsOf = (name: string): string[] =>
  drugName(name)
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word.length > 3 && !FORMS.has(word));
/** Words that names of many drugs have. */
const FORMS: ReadonlySet<string> = new Set([
  'acid',
  'capsule',
  'capsules',
  'cream',
  'delayed',
  'extended',
  'hydrochloride',
  'injection',
  'oral',
  'pack',
  'release',
  'sodium',
  'solution',
  'tablet',
  'tablets',
]);

function sharesWord(name: string, other: string): boolean {
  const words = wordsOf(other);
  return wordsOf(name).some((word) => words.includes(word));
}

/** Of which only what was dispensed is known. */
function dispensedItem({ name, content }: Fill): OverviewItem {
  const supply = unique([
    amountText(content.quantity),
    amountText(content.daysSupply),
  ]).join(', ');
  const isPending = NOT_YET_DISPENSED.includes(String(content.status));
  const word = isPending
    ? `not yet dispensed (${String(content.status)})`
    : 'dispensed';
  return {
    of: referencesOf([{ content }]),
    text: name,
    detail: `${word} ${fillDay(content)}${supply && ` (${supply})`}; no current prescription was delivered`,
  };
}

/** @param fill the last one; `unknown` if the record has no dispenses at all */
function productItem(
  { name, directions: how, statuses, entries }: Product,
  fill: Json | 'unknown' | undefined,
  otherwise: string | undefined,
  madeAt: Date,
): OverviewItem {
  const [{ content: newest }] = entries;
  const isNotFilled =
    fill !== undefined &&
    fill !== 'unknown' &&
    yearsAgo(fill, madeAt) !== '' &&
    clinicalTime(newest).sortDate < monthsBefore(madeAt, 1);
  const filled =
    fill === 'unknown'
      ? undefined
      : fill === undefined
        ? 'no fill was delivered'
        : `last filled ${withAge(fillDay(fill), howLongAgo(fill, madeAt))}`;
  return {
    of: referencesOf(
      fill === undefined || fill === 'unknown'
        ? entries
        : [...entries, { content: fill }],
    ),
    text: name,
    detail: unique([
      // `once a day` beside `1 tablet once a day` says nothing.
      how
        .filter(
          (each) =>
            !how.some((other) => other !== each && other.includes(each)),
        )
        .join('; '),
      // What a document lists without a status says nothing beside an active
      // order.
      ...statuses.filter(
        (status) => status !== 'unknown' || statuses.length === entries.length,
      ),
      ...(isNotFilled
        ? [`${newestText(newest)}, but ${filled}`]
        : [newestText(newest, yearsAgo(newest, madeAt)), filled]),
      otherwise,
    ]).join('; '),
    ...(isNotFilled && { tone: 'alert' as const }),
  };
}

const fillDay = (content: Json): string =>
  firstDay(content, 'whenHandedOver', 'whenPrepared') ?? 'undated';

/**
 * Without the number of the FDA's application, which RxNorm puts before some
 * names.
 */
const productName = (name: string): string => name.replace(/^NDA\d+\s+/i, '');

/**
 * What several orders and statements of one product have in common, by which
 * they are one line of page one; undefined if it has no name.
 */
export const productKey = (
  content: Json,
  lookup: Lookup,
): string | undefined => {
  const name = medicationName(content, lookup);
  return name && productName(name).toLowerCase();
};

/**
 * When it was ordered or stated, with its age if it is older than a year:
 * `ordered 16 Sep 1993 (33 years ago)`.
 */
function newestText(content: Json, ago = ''): string {
  const day = firstDay(
    content,
    'authoredOn',
    'effectiveDateTime',
    'effectivePeriod',
    'dateAsserted',
  );
  const word =
    content.resourceType === 'MedicationStatement' ? 'stated' : 'ordered';
  return `${word} ${day === undefined ? '(undated)' : withAge(day, ago)}`;
}

/**
 * The directions without the day from which they hold, which is the order's
 * own, unless it is to come.
 */
const withoutStart = (dosages: unknown, madeAt: Date): Json[] =>
  objectsOf(dosages).map((dosage) => {
    const repeat =
      isJson(dosage.timing) && isJson(dosage.timing.repeat)
        ? dosage.timing.repeat
        : {};
    if (!isJson(repeat.boundsPeriod) || repeat.boundsPeriod.end !== undefined)
      return dosage;
    const start = textOf(repeat.boundsPeriod.start) ?? '';
    if (start > madeAt.toISOString()) return dosage;
    const { boundsPeriod, ...rest } = repeat;
    return { ...dosage, timing: { ...(dosage.timing as Json), repeat: rest } };
  });

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
