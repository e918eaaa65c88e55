import { clinicalTime } from '../fhir/dates.ts';
import { isJson, type Json, objectsOf, textOf } from '../fhir/json.ts';
import {
  codesOf,
  conceptText,
  dayText,
  firstDay,
  referenceText,
  statusText,
  unique,
} from '../fhir/words.ts';
import { isEmpty, timeOf, valueWithUnit } from '../observation.ts';
import type { OverviewItem } from '../parts.ts';
import { nameOfReferred } from '../section.ts';
import {
  type Collect,
  LeftOutCounts,
  referencesOf,
  withAge,
  yearsAgo,
} from './block-rule.ts';
import { alertsOf, measurementOf, RETRACTED, shortOf } from './measurement.ts';
import { RISK_SCORES, type ScoreRule } from './risk-scores.ts';

/** LOINC and SNOMED CT codes of what a person uses, and of pregnancy. */
const HABITS = [
  '72166-2',
  '11367-0',
  '39240-7',
  '8663-7',
  '8664-5',
  '74010-0',
  '229819007',
  '365981007',
  '401201003',
  '11331-6',
  '74013-4',
  '74205-6',
  '897148007',
  '11343-1',
  '82810-3',
];
const HABIT_WORDS =
  /tobacco|smok|cigarette|pack.?years|vap(?:e|ing)|alcohol (?:use|intake|consumption)|drinks per|drug use|pregnancy status/i;

/**
 * Smoking and the like, the newest of each, then the newest value of each risk
 * score that is high by its own rule (`risk-scores.ts`) or by the source.
 */
export const collectRisks: Collect = ({ madeAt }) => {
  const habits = new Map<string, OverviewItem>();
  /** Without an item: a score that is not high. */
  const scores = new Map<string, OverviewItem | undefined>();
  const others = new LeftOutCounts();

  function takeHabit(content: Json, key: string): void {
    if (habits.has(key)) others.add('earlier statement');
    else habits.set(key, habitItem(content, madeAt));
  }

  function takeScore(key: string, item: OverviewItem | undefined): void {
    if (scores.has(key)) {
      others.add('earlier statement');
      return;
    }
    scores.set(key, item);
    if (item === undefined)
      others.add('score below its limit', 'scores below their limits');
  }

  function takeObservation(content: Json): void {
    if (content.focus !== undefined || isEmpty(content)) return;
    const codes = codesOf(content.code);
    const name = conceptText(content.code) ?? '';
    const rule = codes.map((code) => RISK_SCORES[code]).find(Boolean);
    const amount = rule && measurementOf(content)?.amount;
    if (rule !== undefined && amount !== undefined)
      takeScore(rule.name, scoreItem(content, amount, rule, madeAt));
    else if (isHabit(codes, name) && valueWithUnit(content) !== undefined)
      takeHabit(content, codes[0] ?? name.toLowerCase());
  }

  return {
    take: ({ content }) => {
      if (RETRACTED.includes(String(content.status))) return;
      if (content.resourceType === 'Observation') takeObservation(content);
      for (const prediction of objectsOf(content.prediction)) {
        const name = conceptText(prediction.outcome) ?? 'unnamed outcome';
        takeScore(name.toLowerCase(), riskItem(content, name, prediction));
      }
    },
    collected: () => ({
      items: [...habits.values(), ...scores.values()].filter(
        (item) => item !== undefined,
      ),
      none: others.isEmpty ? undefined : 'No score is beyond its limit.',
      others,
    }),
  };
};

const isHabit = (codes: readonly string[], name: string): boolean =>
  codes.some((code) => HABITS.includes(code)) || HABIT_WORDS.test(name);

function habitItem(content: Json, madeAt: Date): OverviewItem {
  const { value = '', unit = '' } = valueWithUnit(content) ?? {};
  return {
    of: referencesOf([{ content }]),
    text: `${shortOf(conceptText(content.code) ?? '')}: ${value} ${unit}`.trim(),
    detail: observedOn(content, madeAt),
  };
}

const observedOn = (content: Json, madeAt: Date): string =>
  withAge(dayText(timeOf(content)) ?? 'undated', yearsAgo(content, madeAt));

/** Undefined if it is not high. */
function riskItem(
  content: Json,
  name: string,
  { qualitativeRisk, probabilityDecimal: percent }: Json,
): OverviewItem | undefined {
  const risk = conceptText(qualitativeRisk);
  const words = [...codesOf(qualitativeRisk), risk].join(' ');
  if (!/high|certain/i.test(words)) return undefined;
  return {
    of: referencesOf([{ content }]),
    text: `Risk of ${name}: ${unique([risk?.toLowerCase(), typeof percent === 'number' ? `${percent} %` : undefined]).join(', ')}`,
    detail:
      firstDay(content, 'occurrenceDateTime', 'occurrencePeriod') ?? 'undated',
    tone: 'alert',
  };
}

const isBeyond = (amount: number, { from, upTo }: ScoreRule): boolean =>
  (from !== undefined && amount >= from) ||
  (upTo !== undefined && amount <= upTo);

/** Undefined if it is not high. */
function scoreItem(
  content: Json,
  amount: number,
  rule: ScoreRule,
  madeAt: Date,
): OverviewItem | undefined {
  const { name, from, upTo, of } = rule;
  if (!isBeyond(amount, rule) && alertsOf(content).length === 0)
    return undefined;
  const limit =
    from === undefined ? `low: ${upTo} or less` : `high: ${from} or more`;
  return {
    of: referencesOf([{ content }]),
    text: `${name}: ${amount}${of === undefined ? '' : ` of ${of}`} (${limit})`,
    detail: observedOn(content, madeAt),
    tone: 'alert',
  };
}

type NameOf = (reference: unknown) => string | undefined;

const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition/';
const ENDED = ['cancelled', 'entered-in-error', 'draft'];

/** Race, ethnicity, language, coverage and pharmacy, as the record has them. */
export const collectPerson: Collect = ({ lookup, madeAt }) => {
  const nameOf: NameOf = (reference) => nameOfReferred(reference, lookup);
  const others = new LeftOutCounts();
  const person: OverviewItem[] = [];
  const coverages = new Map<string, OverviewItem>();
  /** The newest of those that say it. */
  let billed: Json | undefined;
  let filled: Json | undefined;

  function takeCoverage(content: Json): void {
    const payer = readable(
      unique(objectsOf(content.payor).map(nameOf)).join(', ') ||
        conceptText(content.type),
    );
    if (isOver(content, madeAt)) others.add('past coverage', 'past coverages');
    else if (payer !== undefined)
      coverages.set(payer.toLowerCase(), coverageItem(content, payer));
  }

  return {
    take: ({ content }) => {
      switch (content.resourceType) {
        case 'Patient':
          person.push(...personItems(content));
          break;
        case 'Coverage':
          takeCoverage(content);
          break;
        case 'ExplanationOfBenefit':
        case 'Claim':
          if (isNewer(content, billed)) billed = content;
          break;
        default:
          if (pharmacyOf(content, nameOf) && isNewer(content, filled))
            filled = content;
      }
    },
    collected: () => ({
      items: [
        ...person,
        ...(coverages.size > 0
          ? coverages.values()
          : billedItems(billed, nameOf)),
        ...pharmacyItems(filled, nameOf),
      ],
      others,
    }),
  };
};

function personItems(content: Json): OverviewItem[] {
  const of = referencesOf([{ content }]);
  const race = extensionText(content, 'us-core-race');
  const ethnicity = extensionText(content, 'us-core-ethnicity');
  const languages = unique(
    objectsOf(content.communication).map(({ language, preferred }) => {
      const name = conceptText(language);
      return name && `${name}${preferred === true ? ' (preferred)' : ''}`;
    }),
  );
  const items: OverviewItem[] = [];
  if (race !== undefined)
    items.push({ of, text: `Race: ${race}`, detail: ethnicity ?? '' });
  else if (ethnicity !== undefined)
    items.push({ of, text: `Ethnicity: ${ethnicity}`, detail: '' });
  if (languages.length > 0)
    items.push({ of, text: `Language: ${languages.join('; ')}`, detail: '' });
  return items;
}

function isOver({ status, period }: Json, madeAt: Date): boolean {
  const end = (isJson(period) && textOf(period.end)) || '9999';
  return (
    ENDED.includes(String(status)) ||
    end < madeAt.toISOString().slice(0, end.length)
  );
}

function coverageItem(content: Json, payer: string): OverviewItem {
  const kind = conceptText(content.type);
  const member = textOf(content.subscriberId);
  return {
    of: referencesOf([{ content }]),
    text: `Coverage: ${payer}`,
    detail: unique([
      kind === payer ? undefined : kind,
      firstDay(content, 'period'),
      member && `member ${member}`,
    ]).join('; '),
  };
}

/** Who pays by the newest claim, where there is no Coverage. */
function billedItems(content: Json | undefined, nameOf: NameOf) {
  const payer = content && readable(payerOf(content, nameOf));
  if (content === undefined || payer === undefined) return [];
  const day = dayText(content.created) ?? '(undated)';
  return [
    {
      of: referencesOf([{ content }]),
      text: `Coverage: ${payer}`,
      detail: `as billed ${day}`,
    },
  ];
}

function pharmacyItems(content: Json | undefined, nameOf: NameOf) {
  if (content === undefined) return [];
  const day =
    firstDay(content, 'whenHandedOver', 'whenPrepared', 'authoredOn') ??
    '(undated)';
  return [
    {
      of: referencesOf([{ content }]),
      text: `Pharmacy: ${pharmacyOf(content, nameOf) ?? ''}`,
      detail: `last used ${day}`,
    },
  ];
}

/** The words of a US Core extension of a Patient. */
function extensionText({ extension }: Json, name: string): string | undefined {
  const parts = objectsOf(
    objectsOf(extension).find(({ url }) => url === `${US_CORE}${name}`)
      ?.extension,
  );
  const text = parts.find(({ url }) => url === 'text');
  return (
    textOf(text?.valueString) ??
    (unique(
      parts.map(({ valueCoding }) =>
        isJson(valueCoding) ? textOf(valueCoding.display) : undefined,
      ),
    ).join(', ') ||
      undefined)
  );
}

const isNewer = (content: Json, than: Json | undefined): boolean =>
  than === undefined ||
  clinicalTime(content).sortDate > clinicalTime(than).sortDate;

/** Who pays by a claim or its answer. */
const payerOf = (content: Json, nameOf: NameOf): string | undefined =>
  unique([
    ...objectsOf(content.insurance).map(({ coverage }) =>
      referenceText(coverage),
    ),
    nameOf(content.insurer),
  ])[0];

/** Where a drug was dispensed, or is to be. */
function pharmacyOf(content: Json, nameOf: NameOf): string | undefined {
  const { performer, dispenseRequest } = content;
  const places = [
    ...objectsOf(performer).map(({ actor }) => actor),
    isJson(dispenseRequest) ? dispenseRequest.performer : undefined,
  ];
  return places.map(nameOf).find((name) => name !== undefined);
}

/** `NO_INSURANCE` → `No insurance` */
const readable = (text: string | undefined): string | undefined =>
  text !== undefined && /^[A-Z]+(?:_[A-Z]+)+$/.test(text)
    ? statusText(text.replaceAll('_', '-').toLowerCase())
    : text || undefined;
