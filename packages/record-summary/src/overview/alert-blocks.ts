import { isJson, type Json, objectsOf, textOf } from '../fhir/json.ts';
import {
  conceptText,
  conceptTexts,
  dayText,
  firstDay,
  statusText,
  unique,
} from '../fhir/words.ts';
import { isAdvanceDirective, valueWithUnit } from '../observation.ts';
import type { OverviewItem } from '../parts.ts';
import { type Collect, LeftOutCounts, referencesOf } from './block-rule.ts';
import { RETRACTED } from './measurement.ts';

/** Warnings that a source attached to the person: `Difficult airway`. */
export const collectFlags: Collect = ({ madeAt }) => {
  const items = new Map<string, OverviewItem>();
  const others = new LeftOutCounts();
  return {
    take: ({ content }) => {
      if (content.status === 'entered-in-error')
        return others.add('retracted alert');
      if (content.status === 'inactive' || hasEnded(content.period, madeAt))
        return others.add('past alert');
      const name = conceptText(content.code) ?? 'Unnamed alert';
      const since = firstDay(content, 'period');
      const detail = unique([
        conceptTexts(content.category),
        since && `since ${since}`,
      ]).join('; ');
      const key = name.toLowerCase();
      const known = items.get(key);
      items.set(key, {
        of: [...(known?.of ?? []), ...referencesOf([{ content }])],
        text: name,
        detail: unique([known?.detail, detail]).join('; '),
        tone: 'alert',
      });
    },
    collected: () => ({
      items: [...items.values()],
      none: others.isEmpty ? undefined : 'None of the alerts is active.',
      others,
    }),
  };
};

/** Statuses of orders and consents that are not in force. */
const NOT_IN_FORCE = [
  ...RETRACTED,
  'completed',
  'draft',
  'inactive',
  'on-hold',
  'proposed',
  'rejected',
  'revoked',
];

/**
 * What is to be done if the patient cannot say it, the newest statement of each
 * kind by each type of resource. One without an end is in force, however old.
 */
export const collectDirectives: Collect = ({ madeAt }) => {
  const items = new Map<string, OverviewItem>();
  const others = new LeftOutCounts();
  return {
    take: ({ content }) => {
      if (!isAdvanceDirective(content)) return;
      const { resourceType, status } = content;
      const isOver = NOT_IN_FORCE.includes(String(status));
      if (isOver || endsIn(content).some((each) => hasEnded(each, madeAt)))
        return others.add('directive not in force', 'directives not in force');
      const { name, value } = saidBy(content);
      const key = `${String(resourceType)} ${name.toLowerCase()}`;
      if (items.has(key))
        return others.add('earlier directive', 'earlier directives');
      items.set(key, {
        of: referencesOf([{ content }]),
        text: unique([name, value]).join(': '),
        detail: unique([
          resourceType === 'ServiceRequest' ? 'order' : undefined,
          resourceType === 'Consent' ? 'consent' : undefined,
          sinceOf(content),
          ...objectsOf(content.note).map(({ text }) => textOf(text)),
        ]).join('; '),
        tone: 'alert',
      });
    },
    collected: () => ({
      items: [...items.values()],
      none: others.isEmpty ? undefined : 'None of the directives is in force.',
      others,
    }),
  };
};

/** Periods after which a directive is over. */
const endsIn = ({
  effectivePeriod,
  occurrencePeriod,
  provision,
}: Json): unknown[] => [
  effectivePeriod,
  occurrencePeriod,
  isJson(provision) ? provision.period : undefined,
];

function hasEnded(period: unknown, madeAt: Date): boolean {
  const end = (isJson(period) && textOf(period.end)) || undefined;
  return end !== undefined && end < madeAt.toISOString().slice(0, end.length);
}

function saidBy(content: Json): { name: string; value: string | undefined } {
  const kinds = conceptTexts(content.category) || conceptText(content.scope);
  const name = conceptText(content.code) ?? kinds ?? 'Advance directive';
  if (content.resourceType !== 'Observation')
    return { name, value: doNot(content) };
  const { value = '', unit = '' } = valueWithUnit(content) ?? {};
  return {
    name,
    value: `${value} ${unit}`.trim() || 'nothing stated',
  };
}

const doNot = ({ doNotPerform }: Json): string | undefined =>
  doNotPerform === true ? 'not to be done' : undefined;

function sinceOf(content: Json): string {
  const day =
    firstDay(
      content,
      'effectiveDateTime',
      'effectivePeriod',
      'occurrenceDateTime',
      'occurrencePeriod',
      'authoredOn',
      'dateTime',
    ) ?? dayText(content.issued);
  const status = statusText(content.status)?.toLowerCase();
  const isUsual = ['active', 'final', undefined].includes(status);
  return unique([
    day === undefined ? 'undated' : `since ${day}`,
    isUsual ? undefined : status,
  ]).join(', ');
}
