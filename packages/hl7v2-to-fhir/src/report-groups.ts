import type { Hl7Message, Hl7Segment } from './message.ts';

/**
 * A result within a report: its OBX segments (a text of many lines has one
 * each) and its notes.
 */
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

const BY_SPECIMEN = new Set(['OUL^R22', 'OUL^R23']);

/**
 * The reports of a message with results. A specimen follows its report, but in
 * some messages the reports follow it; an observation about the specimen
 * itself, or before any report, belongs to the next of them.
 */
export function reportGroups(message: Hl7Message): ReportGroup[] {
  const groups: ReportGroup[] = [];
  const isBySpecimen = BY_SPECIMEN.has(
    `${message.header.value(9, 1)}^${message.header.value(9, 2)}`,
  );
  let orc: Hl7Segment | undefined;
  let ofSpecimen: Hl7Segment[] | undefined;
  /** Notes between ORC and its OBR. */
  let ofOrder: Hl7Segment[] | undefined;
  for (const segment of message.segments('ORC', 'OBR', 'SPM', 'OBX', 'NTE')) {
    const group = groups.at(-1);
    if (segment.name === 'ORC' && isBySpecimen && isBegun(group))
      group.orc = segment;
    else if (segment.name === 'ORC') {
      orc = segment;
      ofOrder = [];
    } else if (segment.name === 'NTE' && ofOrder !== undefined)
      ofOrder.push(segment);
    else if (segment.name === 'OBR') {
      const opened: ReportGroup = {
        orc,
        obr: segment,
        notes: ofOrder ?? [],
        observations: [],
      };
      ofOrder = undefined;
      if (isBySpecimen)
        opened.spm =
          ofSpecimen?.find(({ name }) => name === 'SPM') ?? group?.spm;
      for (const each of ofSpecimen ?? []) addTo(opened, each);
      groups.push(opened);
      [orc, ofSpecimen] = [undefined, undefined];
    } else if (isBySpecimen && segment.name === 'SPM')
      ofSpecimen = [...(ofSpecimen ?? []), segment];
    else if (ofSpecimen !== undefined) ofSpecimen.push(segment);
    else if (group !== undefined) {
      addTo(group, segment);
      ofOrder = undefined;
    } else if (segment.name === 'OBX') ofSpecimen = [segment];
  }
  return groups;
}

/** In messages by specimen, ORC follows its OBR. */
const isBegun = (group: ReportGroup | undefined): group is ReportGroup =>
  group !== undefined &&
  group.orc === undefined &&
  group.observations.length === 0;

function addTo(group: ReportGroup, segment: Hl7Segment): void {
  if (segment.name === 'SPM') group.spm ??= segment;
  // An observation about the specimen follows SPM, and is a result of the
  // report like the others.
  else if (segment.name === 'OBX') addObservation(group, segment);
  else (group.observations.at(-1) ?? group).notes.push(segment);
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
