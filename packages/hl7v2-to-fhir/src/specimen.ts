import type { CodeableConcept, Specimen } from 'fhir/r4.js';
import { codedElement } from './fields.ts';
import { mappedResource } from './mapped.ts';
import { SPECIMEN_MAPPING } from './mappings/report.ts';
import type { ComponentReader } from './message.ts';
import type { ReportGroup } from './report-groups.ts';
import type { ObservationReading } from './value.ts';

/** The specimen of an OBR, by SPM or OBR-15; undefined if neither names one. */
export function specimenOf(
  { obr, spm }: ReportGroup,
  reading: ObservationReading,
): Specimen | undefined {
  const group = spm === undefined ? [obr] : [spm, obr];
  const read = mappedResource(group, SPECIMEN_MAPPING, reading);
  const source = sourceOf(obr.repetitions(15)[0], reading.sender);
  const type = read.type ?? source.type;
  const bodySite = read.collection?.bodySite ?? source.bodySite;
  const isKnown = [type, bodySite, read.identifier].some(
    (part) => part !== undefined,
  );
  if (!isKnown) return undefined;
  const collection = {
    ...read.collection,
    ...(bodySite === undefined ? {} : { bodySite }),
  };
  return {
    ...read,
    ...(type === undefined ? {} : { type }),
    ...(Object.keys(collection).length === 0 ? {} : { collection }),
  };
}

/**
 * OBR-15 (SPS): the source and the body site are coded elements whose parts are
 * subcomponents of components 1 and 4. Many senders use a coded element instead.
 */
function sourceOf(
  read: ComponentReader | undefined,
  sender: string,
): { type?: CodeableConcept; bodySite?: CodeableConcept } {
  if (read === undefined) return {};
  const isSource =
    [read(1, 2), read(4, 2)].some((part) => part !== undefined) ||
    (read(2) === undefined && read(4) !== undefined);
  if (!isSource) return { type: codedElement(read, sender) };
  const partOf = (component: number) =>
    codedElement({ whole: (part) => read(component, part) }, sender);
  return { type: partOf(1), bodySite: partOf(4) };
}
