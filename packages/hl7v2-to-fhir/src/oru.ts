import { envelopeOf, withLabels } from './envelope.ts';
import { invalid } from './errors.ts';
import {
  codedElement,
  orderNumber,
  requiredField,
  subjectNumbers,
} from './fields.ts';
import { groupBy } from './group-by.ts';
import { hl7Table } from './lookup-table.ts';
import type { Hl7Message, Hl7Segment } from './message.ts';
import { type ParentFinder, parentFinder } from './parents.ts';
import type {
  ClinicalItem,
  OrderStatus,
  ReadMessage,
  ReportedResource,
  ReportedSubject,
  SubjectNumber,
} from './read-message.ts';
import {
  hasResults,
  isMistaken,
  observationStatus,
  reportStatus,
} from './report-codes.ts';
import { type ReportGroup, reportGroups } from './report-groups.ts';
import { noteText, reportResources } from './report-resources.ts';
import { statusRank } from './status-rank.ts';
import { hl7TimeInFhir, parseHl7Time, type TimeReading } from './time.ts';
import type { ObservationReading } from './value.ts';

/**
 * Reads unsolicited results (ORU, OUL): each OBR segment is a report, known by
 * its order number and code. Throws UnreadableMessageError.
 */
export function readOru(message: Hl7Message, zone: string): ReadMessage {
  const { pid: _, time, ...envelope } = envelopeOf(message, zone);
  const reports = reportsOf(message);
  // What cannot be read as resources is refused now, not when it is recorded.
  const parents = parentFinder(reports);
  for (const [sourceId, groups] of reports)
    resourcesOf(groups, { time, sender: '' }, { sourceId, parents });
  return {
    ...envelope,
    trigger: message.header.value(9, 2) ?? '',
    recordedAt: requiredField(
      envelope.sentAt,
      'MSH-7',
      'the time of the message',
    ),
    content: {
      kind: 'laboratory',
      items: [...reports].map(([sourceId, groups]) =>
        itemOf(sourceId, groups, time),
      ),
    },
  };
}

/** What the message reports, as FHIR resources. */
export function reportedInOru(
  message: Hl7Message,
  zone: string,
  sender: string,
  earlier: readonly Hl7Message[] = [],
): ReportedSubject[] {
  const { time } = envelopeOf(message, zone);
  const reports = reportsOf(message);
  const parents = parentFinder(reports, earlier.map(reportsOf));
  return [...reports].map(([sourceId, groups]) => ({
    kind: 'laboratory',
    sourceId,
    numbers: numbersOf(groups),
    resources: resourcesOf(groups, { time, sender }, { sourceId, parents }),
  }));
}

const TABLE_0177 = 'http://terminology.hl7.org/CodeSystem/v2-0177';

/**
 * The resources of a report, which is as confidential as its orders are
 * (ORC-28).
 */
function resourcesOf(
  groups: [ReportGroup, ...ReportGroup[]],
  reading: ObservationReading,
  of: { sourceId: string; parents: ParentFinder },
): ReportedResource[] {
  const codes = [
    ...new Set(groups.flatMap(({ orc }) => orc?.value(28) ?? [])),
  ].map((code) => ({
    system: TABLE_0177,
    code,
  }));
  const resources = reportResources(groups, reading, of);
  if (codes.length === 0) return resources;
  return resources.map((each) => ({
    ...each,
    resource: withLabels(each.resource, codes),
  }));
}

/**
 * The OBR segments of each report: a lab may repeat number and code, as for two
 * blood culture bottles.
 */
function reportsOf(
  message: Hl7Message,
): Map<string, [ReportGroup, ...ReportGroup[]]> {
  const reports = groupBy(reportGroups(message), sourceIdOf);
  if (reports.size === 0) throw invalid('OBR is required: the report', 'OBR');
  return reports;
}

/**
 * The numbers of a report, of the order that it answers, and of the report that
 * its results belong to (OBR-29).
 */
function numbersOf(groups: readonly ReportGroup[]): SubjectNumber[] {
  return groups.flatMap(({ orc, obr }) => {
    const code = codeOf(obr);
    const fillers = [obr, orc].flatMap((segment) =>
      subjectNumbers(segment, 3, { of: 'report', role: 'own' }),
    );
    const placers = [obr, orc].flatMap((segment) =>
      subjectNumbers(segment, 2, { of: 'report', role: 'own' }),
    );
    const ofOrder = [...placers, ...fillers].flatMap((number) =>
      ['ServiceRequest', `ServiceRequest/${code}`].map((of) => ({
        ...number,
        of,
        role: 'refers' as const,
      })),
    );
    const parents = [2, 1].flatMap((part) => obr.value(29, part) ?? []);
    const ofParent = parents.map((value) => ({
      of: 'report',
      value,
      role: 'refers' as const,
    }));
    return [...fillers, ...placers, ...ofOrder, ...ofParent];
  });
}

/** The code of the report, as it is known by. */
const codeOf = (obr: Hl7Segment): string =>
  [1, 4, 9, 2, 5].flatMap((at) => obr.value(4, at) ?? []).at(0) ?? '';

const ORDER_STATUS: Readonly<Record<string, OrderStatus>> = hl7Table({
  final: 'completed',
  amended: 'completed',
  corrected: 'completed',
  cancelled: 'revoked',
});

function sourceIdOf({ orc, obr }: ReportGroup): string {
  const filler = orderNumber(obr, 3) ?? orderNumber(orc, 3);
  const placer = orderNumber(obr, 2) ?? orderNumber(orc, 2);
  const number = filler ?? (placer && `placer ${placer}`);
  const [code] = obr.repetitions(4);
  const test = requiredField(
    code && codedElement(code, ''),
    'OBR-4',
    'the kind of report',
  );
  const system = test.coding?.[0]?.system ?? '';
  // Read as ever, with subcomponents: stored reports are known by it.
  return `${requiredField(number, 'OBR-3', 'the number of the report')}/${system}|${codeOf(obr)}`;
}

function itemOf(
  sourceId: string,
  [first, ...others]: [ReportGroup, ...ReportGroup[]],
  time: TimeReading,
): ClinicalItem {
  const results = [first, ...others].flatMap(
    ({ observations }) => observations,
  );
  // The text of a report may stand in notes alone.
  const isReported =
    results.length > 0 ||
    [first, ...others].some(({ notes }) => noteText(notes) !== undefined);
  const isMistake =
    results.length > 0 &&
    results.every(({ segments: [obx] }) => isMistaken(obx.value(11)));
  const status = first.obr.value(25);
  const rank = Math.max(
    statusRank(reportStatus(status)),
    ...results.map(({ segments: [obx] }) =>
      statusRank(observationStatus(obx.value(11))),
    ),
  );
  return {
    sourceId,
    numbers: numbersOf([first, ...others]),
    orderStatus: ORDER_STATUS[reportStatus(status)] ?? 'active',
    specimen:
      hl7TimeInFhir(first.spm?.value(17), time) ??
      hl7TimeInFhir(first.obr.value(7), time),
    corrects: rank > statusRank('final'),
    at:
      parseHl7Time(first.spm?.value(17), time) ??
      parseHl7Time(first.obr.value(7), time),
    isTrue: !isMistake && isReported && hasResults(status),
    rank,
  };
}
