import type { Hl7Message, Hl7Segment } from './message.ts';

/** A result within a report: its OBX segments (a text of many lines has one each) and its notes. */
export interface ObservationGroup {
  segments: [Hl7Segment, ...Hl7Segment[]];
  notes: Hl7Segment[];
}

/** One OBR segment with what belongs to it. */
export interface ReportGroup {
  orc?: Hl7Segment;
  obr: Hl7Segment;
  spm?: Hl7Segment;
  notes: Hl7Segment[];
  observations: ObservationGroup[];
}

const TEXT = new Set(['TX', 'FT']);

/** The reports of an ORU message. Segments that belong to none are ignored. */
export function reportGroups(message: Hl7Message): ReportGroup[] {
  const groups: ReportGroup[] = [];
  let orc: Hl7Segment | undefined;
  for (const segment of message.segments('ORC', 'OBR', 'SPM', 'OBX', 'NTE')) {
    const group = groups.at(-1);
    if (segment.name === 'ORC') orc = segment;
    else if (segment.name === 'OBR') {
      groups.push({ orc, obr: segment, notes: [], observations: [] });
      orc = undefined;
    } else if (group === undefined) continue;
    else if (segment.name === 'SPM') group.spm ??= segment;
    // An observation about the specimen follows SPM, and is a result of the report like the others.
    else if (segment.name === 'OBX') addObservation(group, segment);
    else if (segment.name === 'NTE') (group.observations.at(-1) ?? group).notes.push(segment);
  }
  return groups;
}

function addObservation(group: ReportGroup, obx: Hl7Segment): void {
  const last = group.observations.at(-1);
  const before = last?.segments[0];
  const isNextLine =
    before !== undefined &&
    last?.notes.length === 0 &&
    [before, obx].every((each) => TEXT.has(each.value(2) ?? '')) &&
    [3, 4, 11].every((field) => before.raw(field) === obx.raw(field));
  if (isNextLine) last?.segments.push(obx);
  else group.observations.push({ segments: [obx], notes: [] });
}
