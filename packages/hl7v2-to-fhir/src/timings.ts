import type { Dosage, DosageDoseAndRate, TimingRepeat } from 'fhir/r4.js';
import { hl7Table } from './lookup-table.ts';
import type { Hl7Segment } from './message.ts';
import { hl7TimeInFhir, type TimeReading } from './time.ts';
import { hl7Decimal } from './written-decimals.ts';

type Group = readonly Hl7Segment[];

/** One timing of a medication: a TQ1 segment, or a repetition of TQ. */
interface Step {
  /** Only of a segment. */
  segment?: Hl7Segment;
  amount?: object;
  repeat: TimingRepeat;
  interval?: string;
  text?: string;
}

/**
 * The dosages of a medication with several timings (TQ1; before version 2.5
 * repetitions of RXE-1 or ORC-7), as of a taper: one for each, in their order,
 * with its own amount where any has one. The directions of the whole stand in
 * the first. A single timing completes the dosage that there is.
 *
 * @param dosageOf reads the dosage of a group that has only one timing
 */
export function timedDosages(
  group: Group,
  dosageOf: (group: Group) => Dosage | undefined,
  time: TimeReading,
): Dosage[] | undefined {
  const steps = stepsOf(group, time);
  const [only, ...others] = steps;
  if (only === undefined) return undefined;
  if (others.length === 0) {
    const dosage = dosageOf(group) ?? {};
    const completed = completedBy(dosage, only, [only]);
    return Object.keys(completed).length === 0 ? undefined : [completed];
  }
  return steps.map((step, nth) => {
    const own = group.filter(
      (segment) => segment === step.segment || segment.name !== 'TQ1',
    );
    const { text, timing: _, ...dosage } = dosageOf(own) ?? {};
    const said = nth === 0 ? text : step.text;
    return {
      sequence: nth + 1,
      ...(said ? { text: said } : {}),
      ...completedBy(dosage, step, steps),
    };
  });
}

function completedBy(
  { doseAndRate, timing, ...dosage }: Dosage,
  { amount, repeat, interval }: Step,
  all: readonly Step[],
): Dosage {
  const haveAmounts = all.length > 1 && all.some((step) => step.amount);
  const ofStep: DosageDoseAndRate[] | undefined = amount && [
    { doseQuantity: amount },
  ];
  const amounts = haveAmounts ? ofStep : (doseAndRate ?? ofStep);
  const code = timing?.code ?? (interval && { text: interval });
  const bounds = { ...repeat, ...timing?.repeat };
  if (bounds.boundsPeriod !== undefined) delete bounds.boundsDuration;
  const timed = {
    ...(code ? { code } : {}),
    ...(Object.keys(bounds).length === 0 ? {} : { repeat: bounds }),
  };
  return {
    ...dosage,
    ...(Object.keys(timed).length === 0 ? {} : { timing: timed }),
    ...(amounts === undefined ? {} : { doseAndRate: amounts }),
  };
}

function stepsOf(group: Group, time: TimeReading): Step[] {
  const timings = group.filter(({ name }) => name === 'TQ1');
  if (timings.length > 0) return timings.map((tq1) => ofSegment(tq1, time));
  const before = group.flatMap((segment) => {
    const field = TQ_FIELDS[segment.name];
    const steps =
      field === undefined ? [] : ofRepetitions(segment, field, time);
    return steps.length === 0 ? [] : [steps];
  });
  return before.find((steps) => steps.length > 1) ?? before[0] ?? [];
}

/** The fields of type TQ. */
const TQ_FIELDS: Readonly<Record<string, number>> = hl7Table({
  RXE: 1,
  ORC: 7,
});

function ofSegment(tq1: Hl7Segment, time: TimeReading): Step {
  return {
    segment: tq1,
    // CQ: the unit stands in subcomponents of the second part.
    amount: amountOf(tq1.value(2), tq1.value(2, 2, 2) ?? tq1.value(2, 2)),
    interval: tq1.value(3),
    repeat: repeatOf(
      {
        start: tq1.value(7),
        end: tq1.value(8),
        duration: tq1.value(6),
        unit: tq1.value(6, 2),
      },
      time,
    ),
    text: tq1.texts(11).join('\n').trim(),
  };
}

function ofRepetitions(
  segment: Hl7Segment,
  field: number,
  time: TimeReading,
): Step[] {
  return segment.repetitions(field).flatMap((read) => {
    const [, unit, duration] = /^([A-Z])(\d{1,4})$/.exec(read(3) ?? '') ?? [];
    const step: Step = {
      amount: amountOf(read(1), read(1, 2)),
      interval: read(2),
      repeat: repeatOf({ start: read(4), end: read(5), duration, unit }, time),
      text: read.whole(8),
    };
    const isEmpty =
      [step.amount, step.interval, step.text].every(
        (part) => part === undefined,
      ) && Object.keys(step.repeat).length === 0;
    return isEmpty ? [] : [step];
  });
}

/** Units of durations in TQ and TQ1-6, as UCUM. */
const UNITS: Readonly<Record<string, string>> = hl7Table({
  S: 's',
  M: 'min',
  MIN: 'min',
  H: 'h',
  HR: 'h',
  D: 'd',
  DAY: 'd',
  DAYS: 'd',
  W: 'wk',
  WK: 'wk',
  L: 'mo',
  MO: 'mo',
});

function repeatOf(
  {
    start,
    end,
    duration,
    unit = '',
  }: Readonly<
    Record<'start' | 'end' | 'duration' | 'unit', string | undefined>
  >,
  time: TimeReading,
): TimingRepeat {
  const period = {
    start: hl7TimeInFhir(start, time),
    end: hl7TimeInFhir(end, time),
  };
  if (period.start !== undefined || period.end !== undefined)
    return { boundsPeriod: JSON.parse(JSON.stringify(period)) };
  const number = /^\d{1,4}$/.test(duration ?? '') ? Number(duration) : 0;
  if (number === 0) return {};
  // X: so many times.
  if (unit === 'X') return { count: number };
  const code = UNITS[unit.toUpperCase()];
  if (code === undefined) return {};
  return {
    boundsDuration: {
      value: number,
      unit: code,
      system: 'http://unitsofmeasure.org',
      code,
    },
  };
}

function amountOf(
  number: string | undefined,
  unit: string | undefined,
): object | undefined {
  if (number === undefined || !/^(?:\d+\.?\d*|\.\d+)$/.test(number))
    return undefined;
  return {
    ...hl7Decimal('value', number),
    ...(unit === undefined ? {} : { unit }),
  };
}
