import type { FhirResource, Patient } from 'fhir/r4.js';
import type { SourceName } from '../protocol.ts';
import type { PatientView } from './patient-view.ts';
import { withReferences } from './references.ts';
import { idAtSource } from './source-ids.ts';

export const LINK_TYPES = ['replaced-by', 'seealso'] as const;
export type LinkType = (typeof LINK_TYPES)[number];

/** The ids of two linked Patients that are the same person. */
export interface LinkedIds {
  first: string;
  second: string;
}

export function linkedIds(source: SourceName, samplePatientId: string, link: LinkType): LinkedIds {
  return {
    first: idAtSource(source, `${samplePatientId}/${link}/first`),
    second: idAtSource(source, `${samplePatientId}/${link}/second`),
  };
}

/**
 * Splits a view between two linked Patients. With `replaced-by`, all data is at the second one; with `seealso`, each has
 * half of it.
 */
export function splitView(view: PatientView, ids: LinkedIds, link: LinkType): [PatientView, PatientView] {
  const atFirst = (index: number) => link === 'seealso' && index % 2 === 0;
  const first = view.resources.filter((_, index) => atFirst(index));
  const second = view.resources.filter((_, index) => !atFirst(index));
  return [
    { ...moved(view, first, ids.first), patient: linked(view.patient, ids.first, ids.second, link) },
    {
      ...moved(view, second, ids.second),
      patient: linked(view.patient, ids.second, ids.first, link === 'seealso' ? 'seealso' : 'replaces'),
    },
  ];
}

function moved(view: PatientView, resources: readonly FhirResource[], patientId: string): PatientView {
  const from = `Patient/${view.patient.id}`;
  const to = `Patient/${patientId}`;
  const resolve = (reference: string) => (reference === from ? to : reference);
  return { ...view, resources: resources.map((resource) => withReferences(resource, resolve)) };
}

function linked(patient: Patient, id: string, otherId: string, type: LinkType | 'replaces'): Patient {
  return {
    ...patient,
    id,
    active: type !== 'replaced-by',
    link: [{ other: { reference: `Patient/${otherId}` }, type }],
  };
}
