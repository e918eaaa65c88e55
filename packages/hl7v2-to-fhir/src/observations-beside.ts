import { createHash } from 'node:crypto';
import type { FhirResource, Immunization, Observation } from 'fhir/r4.js';
import { valueAt } from './field-places.ts';
import { codedElement } from './fields.ts';
import type { Hl7Segment } from './message.ts';
import {
  isNoResult,
  observationStatus,
  resultCategory,
} from './report-codes.ts';
import { interpretationOf, referenceRangeOf } from './report-resources.ts';
import { hl7TimeInFhir } from './time.ts';
import { type ObservationReading, observationValue } from './value.ts';
import { isVitalSign } from './vital-signs.ts';

/**
 * LOINC codes of OBX in VXU that are no finding about the person: eligibility,
 * funding, information statements, and what is recommended next.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  '64994-7',
  '30963-3',
  '69764-9',
  '29768-9',
  '29769-7',
  '30956-7',
  '30979-9',
  '30980-7',
  '30981-5',
  '59777-3',
  '59778-1',
]);

const REACTION = '31044-1';

/** What OBX say beside a vaccination: reactions, contraindications, immunity. */
export const vaccineObservations = (
  group: readonly Hl7Segment[],
  reading: ObservationReading,
): (Observation & { id: string })[] =>
  observationsIn(
    group.filter((obx) => !isNoResult(obx.value(11))),
    reading,
    { given: hl7TimeInFhir(valueAt(group, 'RXA-3'), reading.time) },
  );

/**
 * What OBX say beside an order, an appointment or a stay: answers that were
 * asked for, height and weight.
 *
 * @param areMeasured each time of a measurement is another one
 */
export function observationsIn(
  group: readonly Hl7Segment[],
  { time, sender }: ObservationReading,
  { given, areMeasured }: { given?: string; areMeasured?: true } = {},
): (Observation & { id: string })[] {
  const seen = new Map<string, number>();
  return group
    .filter(({ name }) => name === 'OBX')
    .filter((obx) => !LEFT_OUT.has(obx.value(3) ?? ''))
    .flatMap((obx) => {
      const code = codedElement(obx.repetitions(3)[0], sender);
      if (code === undefined) return [];
      const name = JSON.stringify([
        obx.value(3) ?? (areMeasured && obx.value(3, 2)),
        obx.value(3, 3),
        obx.value(4),
        ...(areMeasured ? [obx.value(14) ?? ''] : []),
      ]);
      const nth = (seen.get(name) ?? 0) + 1;
      seen.set(name, nth);
      const hash = createHash('sha256').update(`${name} ${nth}`).digest('hex');
      const at = hl7TimeInFhir(obx.value(14), time) ?? given;
      return [
        {
          resourceType: 'Observation' as const,
          id: `o-${hash.slice(0, 32)}`,
          status: observationStatus(obx.value(11)),
          code,
          subject: { reference: 'Patient/person' },
          ...resultCategory(
            undefined,
            isVitalSign(code) ? 'vital-signs' : undefined,
          ),
          ...(at === undefined ? {} : { effectiveDateTime: at }),
          ...observationValue(obx, { time, sender }),
          ...interpretationOf(obx),
          ...referenceRangeOf(obx),
        },
      ];
    });
}

/** The vaccination with the reactions among what was observed. */
export function withReactions<T extends FhirResource>(
  immunization: T,
  observations: readonly (Observation & { id: string })[],
): T {
  const reaction: Immunization['reaction'] = observations
    .filter(({ code }) => code.coding?.some((each) => each.code === REACTION))
    .map(({ id, effectiveDateTime }) => ({
      ...(effectiveDateTime === undefined ? {} : { date: effectiveDateTime }),
      detail: { reference: `Observation/${id}` },
    }));
  return reaction.length === 0 ? immunization : { ...immunization, reaction };
}

/** The elements that refer to what was observed, by the type of resource. */
const SUPPORT: Readonly<Record<string, string>> = {
  ServiceRequest: 'supportingInfo',
  MedicationRequest: 'supportingInformation',
  Appointment: 'supportingInformation',
};

/** An order or appointment with the observations that came with it. */
export function withSupport<T extends FhirResource>(
  resource: T,
  observations: readonly (Observation & { id: string })[],
): T {
  const element = SUPPORT[resource.resourceType];
  if (element === undefined || observations.length === 0) return resource;
  const references = observations.map(({ id }) => ({
    reference: `Observation/${id}`,
  }));
  return { ...resource, [element]: references };
}
