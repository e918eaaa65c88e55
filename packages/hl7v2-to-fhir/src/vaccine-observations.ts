import { createHash } from 'node:crypto';
import type { FhirResource, Immunization, Observation } from 'fhir/r4.js';
import { valueAt } from './field-places.ts';
import { codedElement } from './fields.ts';
import type { Hl7Segment } from './message.ts';
import { isNoResult, observationStatus } from './report-codes.ts';
import { hl7TimeInFhir } from './time.ts';
import { type ObservationReading, observationValue } from './value.ts';

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
export function vaccineObservations(
  group: readonly Hl7Segment[],
  { time, sender }: ObservationReading,
): (Observation & { id: string })[] {
  const given = hl7TimeInFhir(valueAt(group, 'RXA-3'), time);
  const seen = new Map<string, number>();
  return group
    .filter(({ name }) => name === 'OBX')
    .filter((obx) => !LEFT_OUT.has(obx.value(3) ?? ''))
    .filter((obx) => !isNoResult(obx.value(11)))
    .flatMap((obx) => {
      const code = codedElement(obx.repetitions(3)[0], sender);
      if (code === undefined) return [];
      const name = JSON.stringify([
        obx.value(3),
        obx.value(3, 3),
        obx.value(4),
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
          ...(at === undefined ? {} : { effectiveDateTime: at }),
          ...observationValue(obx, { time, sender }),
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
