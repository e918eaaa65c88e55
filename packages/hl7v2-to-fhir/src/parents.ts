import { createHash } from 'node:crypto';
import { codedElement } from './fields.ts';
import type { Hl7Segment } from './message.ts';
import { isNoResult } from './report-codes.ts';
import type { ObservationGroup, ReportGroup } from './report-groups.ts';

type Groups = readonly [ReportGroup, ...ReportGroup[]];

/** The result that others belong to, as an organism its susceptibilities. */
export interface ParentResult {
  /** The id of the report that it stands in; undefined: not in this message. */
  sourceId?: string;
  /** The id of the Observation within that report. */
  id?: string;
  /** The number of that report, where the message does not contain it. */
  number?: string;
  /** What it found, as `Escherichia coli`, and whether that is an organism. */
  name?: string;
  isOrganism?: boolean;
}

/** LOINC codes of the organism that a culture found. */
const ORGANISMS: ReadonlySet<string> = new Set([
  '600-7',
  '634-6',
  '635-3',
  '6463-4',
  '11475-1',
  '17928-3',
  '17909-3',
  '41852-5',
  '43409-2',
]);

/**
 * The ids of a report's results: the same in every message about it, by code,
 * sub-id and, if these are repeated, the place among the equal ones.
 */
export function observationIds(groups: Groups): Map<ObservationGroup, string> {
  const seen = new Map<string, number>();
  const ids = new Map<ObservationGroup, string>();
  const results = groups
    .flatMap(({ observations }) => observations)
    .filter(({ segments: [obx] }) => !isNoResult(obx.value(11)));
  for (const result of results) {
    const [obx] = result.segments;
    const instance = obx.value(21);
    const name = JSON.stringify(
      instance === undefined
        ? [obx.value(3, 1) ?? obx.value(3, 2), obx.value(3, 3), obx.value(4)]
        : ['instance', instance],
    );
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    const hash = createHash('sha256').update(`${name} ${nth}`).digest('hex');
    ids.set(result, `o-${hash.slice(0, 32)}`);
  }
  return ids;
}

type Reports = ReadonlyMap<string, Groups>;

/**
 * Finds the parents of the results of a message, by its reports.
 *
 * @param others the reports of other messages, in their order, in which a parent
 *   may stand that is not in this one
 */
export function parentFinder(
  reports: Reports,
  others: readonly Reports[] = [],
) {
  return {
    /**
     * The result that all results of an OBR belong to: by the number of its
     * report (OBR-29) and its code and sub-id (OBR-26). Undefined if the message
     * names none.
     */
    ofReport({ obr }: ReportGroup): ParentResult | undefined {
      const number = obr.value(29, 2) ?? obr.value(29, 1);
      const code = obr.value(26, 1);
      if (code === undefined && obr.value(26, 3) === undefined)
        return undefined;
      const described = obr.repetitions(26)[0]?.whole(3);
      const isElsewhere = number !== undefined;
      const only =
        onlyParent(reports, obr) ??
        (isElsewhere
          ? others.map((each) => onlyParent(each, obr)).findLast(Boolean)
          : undefined);
      if (only === undefined)
        return {
          number,
          name: described,
          isOrganism: isNamedOrganism(code, obr.value(26, 1, 2)),
        };
      return {
        sourceId: only.sourceId,
        id: observationIds(only.groups).get(only.result),
        name: foundBy(only.result.segments[0]) ?? described,
        isOrganism: isOrganism(only.result.segments[0]),
      };
    },
    /**
     * The organism of a result within one report: the only one that has the same
     * sub-id (OBX-4).
     */
    ofSubId(
      group: ReportGroup,
      { segments: [obx] }: ObservationGroup,
    ): ObservationGroup | undefined {
      const subId = obx.value(4);
      if (subId === undefined || isOrganism(obx)) return undefined;
      const found = group.observations.filter(
        ({ segments: [each] }) => each.value(4) === subId && isOrganism(each),
      );
      return found.length === 1 ? found[0] : undefined;
    },
  };
}

/** The result among these reports that an OBR names, if it is the only one. */
function onlyParent(reports: Reports, obr: Hl7Segment) {
  const found = [...reports].flatMap(([sourceId, groups]) =>
    groups
      .filter((group) => isNumbered(group, obr))
      .flatMap(({ observations }) => observations)
      .filter(({ segments: [obx] }) => isParent(obx, obr))
      .map((result) => ({ sourceId, groups, result })),
  );
  return found.length === 1 ? found[0] : undefined;
}

export type ParentFinder = ReturnType<typeof parentFinder>;

/** OBR-29 (EIP) names the placer's and the filler's number of the parent. */
function isNumbered({ obr, orc }: ReportGroup, child: Hl7Segment): boolean {
  if (obr === child) return false;
  const placer = child.value(29, 1);
  const filler = child.value(29, 2);
  if (placer === undefined && filler === undefined) return true;
  const isFiller = [obr.value(3), orc?.value(3)].includes(filler ?? '');
  const isPlacer = [obr.value(2), orc?.value(2)].includes(placer ?? '');
  return filler === undefined ? isPlacer : isFiller;
}

/** OBR-26 (PRL): the code as subcomponents, the sub-id, and what was found. */
function isParent(obx: Hl7Segment, child: Hl7Segment): boolean {
  const code = child.value(26, 1);
  const subId = child.value(26, 2);
  return (
    code !== undefined &&
    obx.value(3) === code &&
    (subId === undefined || obx.value(4) === subId)
  );
}

const isOrganism = (obx: Hl7Segment): boolean =>
  isNamedOrganism(obx.value(3), obx.value(3, 2));

const isNamedOrganism = (code = '', name = ''): boolean =>
  ORGANISMS.has(code) ||
  /\b(?:organism|bacteria identified|isolate)\b/i.test(name);

function foundBy(obx: Hl7Segment): string | undefined {
  if (!/^C[A-Z]{1,2}$/.test(obx.value(2) ?? ''))
    return obx.texts(5).join(' ').trim() || undefined;
  const coded = codedElement(obx.repetitions(5)[0], '');
  return coded?.text ?? coded?.coding?.[0]?.code;
}
