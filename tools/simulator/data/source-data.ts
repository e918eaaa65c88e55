import type { FhirResource, Patient } from 'fhir/r4.js';
import {
  loadSamplePatients,
  type SamplePatient,
} from '../../../src/local-stack/sample-patients.ts';
import type { SourceName } from '../../../src/local-stack/simulator/protocol.ts';
import { loadProviders } from '../samples.ts';
import { corrected, resourceName } from './corrections.ts';
import {
  buildPatientView,
  idAtSource,
  type PatientView,
  type ProvidersByReference,
  type StoredBinary,
  withResolvedReferences,
} from './patient-view.ts';

/**
 * The records of one source. A record is built when it is first used, then
 * cached.
 */
export class SourceData {
  readonly #samplesByPatientId = new Map<string, SamplePatient>();
  readonly #views = new Map<string, PatientView>();
  readonly #corrections = new Map<
    string,
    { resource: FhirResource; to: string } | undefined
  >();
  /**
   * By name: when a resource was changed, and since when a sample patient no
   * longer has it.
   */
  readonly #changedAt = new Map<string, string>();
  readonly #removed = new Map<string, { sample: string; at: string }>();
  private readonly source: SourceName;
  private readonly samples: readonly SamplePatient[];
  private readonly providers: () => ProvidersByReference;

  constructor(
    source: SourceName,
    samples: readonly SamplePatient[],
    providers: () => ProvidersByReference,
  ) {
    this.source = source;
    this.samples = samples;
    this.providers = providers;

    for (const sample of samples) {
      this.#samplesByPatientId.set(
        idAtSource(source, sample.patientId),
        sample,
      );
      for (const link of LINK_TYPES) {
        const ids = linkedIds(source, sample.patientId, link);
        this.#samplesByPatientId.set(ids.first, sample);
        this.#samplesByPatientId.set(ids.second, sample);
      }
    }
  }

  /** Key of the sample patient with this id at the source. */
  sampleOf(patientId: string): string | undefined {
    return this.#samplesByPatientId.get(patientId)?.key;
  }

  /**
   * The record of a Patient of this source; undefined when the id is unknown.
   */
  view(patientId: string): PatientView | undefined {
    const sample = this.#samplesByPatientId.get(patientId);
    if (!sample) return undefined;
    this.#build(sample);
    const view = this.#views.get(patientId);
    return view && corrected(view, this.#corrections);
  }

  /** The records of all patients of this source, each once. */
  views(): PatientView[] {
    return this.samples.flatMap(
      (sample) => this.view(idAtSource(this.source, sample.patientId)) ?? [],
    );
  }

  /** Id of the first of a sample patient's two linked Patients. */
  linkedPatientId(sampleKey: string, link: LinkType): string | undefined {
    const sample = this.samples.find(({ key }) => key === sampleKey);
    return sample && linkedIds(this.source, sample.patientId, link).first;
  }

  /**
   * One resource by type and id, with the sample patient whose record contains
   * it.
   */
  read(
    type: string,
    id: string,
  ): { resource: FhirResource; sample: string } | undefined {
    if (type === 'Patient') {
      const view = this.view(id);
      return view && { resource: view.patient, sample: view.sample };
    }
    for (const { resources, sample } of this.views()) {
      const resource = resources.find(
        (candidate) => candidate.resourceType === type && candidate.id === id,
      );
      if (resource) return { resource, sample };
    }
    return undefined;
  }

  /**
   * Deletes a resource, or moves it to another sample patient. Returns false
   * when there is no such resource or patient.
   */
  correct(name: string, to: string | undefined, at: Date): boolean {
    const [type = '', id = ''] = name.split('/');
    const found = this.read(type, id);
    if (found === undefined || type === 'Patient') return false;
    if (to !== undefined && !this.samples.some(({ key }) => key === to))
      return false;
    this.#corrections.set(
      name,
      to === undefined ? undefined : { resource: found.resource, to },
    );
    this.#changedAt.set(name, at.toISOString());
    this.#removed.set(name, { sample: found.sample, at: at.toISOString() });
    return true;
  }

  /**
   * Adds a resource to the record of a sample patient, or replaces it. Returns
   * false when there is no such patient.
   */
  put(resource: FhirResource, sample: string, at: Date): boolean {
    if (!this.samples.some(({ key }) => key === sample)) return false;
    this.#corrections.set(resourceName(resource), { resource, to: sample });
    this.#changedAt.set(resourceName(resource), at.toISOString());
    return true;
  }

  /**
   * When a resource was changed; undefined for one that is as in the samples.
   */
  changedAt(name: string): string | undefined {
    return this.#changedAt.get(name);
  }

  /** Names of the resources that a sample patient no longer has since then. */
  removedSince(sample: string, since: string): string[] {
    return [...this.#removed].flatMap(([name, removed]) =>
      removed.sample === sample && Date.parse(removed.at) > Date.parse(since)
        ? [name]
        : [],
    );
  }

  /** Restores the records of the samples. */
  undoCorrections(): void {
    this.#corrections.clear();
    this.#changedAt.clear();
    this.#removed.clear();
  }

  binary(id: string): (StoredBinary & { sample: string }) | undefined {
    for (const { binaries, sample } of this.views()) {
      const binary = binaries.get(id);
      if (binary) return { ...binary, sample };
    }
    return undefined;
  }

  #build(sample: SamplePatient): void {
    const patientId = idAtSource(this.source, sample.patientId);
    if (this.#views.has(patientId)) return;
    const view = buildPatientView(this.source, sample, this.providers());
    this.#views.set(patientId, view);
    for (const link of LINK_TYPES) {
      const ids = linkedIds(this.source, sample.patientId, link);
      const [first, second] = splitView(view, ids, link);
      this.#views.set(ids.first, first);
      this.#views.set(ids.second, second);
    }
  }
}

/** Creates the data of all sources; the samples are read once. */
export function createSourceData(): Record<SourceName, SourceData> {
  const samples = loadSamplePatients();
  let providers: ProvidersByReference | undefined;
  const readProviders = () => {
    providers ??= providersByReference();
    return providers;
  };
  return {
    hie: new SourceData('hie', samples, readProviders),
    pharmacy: new SourceData('pharmacy', samples, readProviders),
    lab: new SourceData('lab', samples, readProviders),
  };
}

function providersByReference(): ProvidersByReference {
  const references = new Map<string, FhirResource>();
  for (const resource of loadProviders()) {
    if (!('identifier' in resource) || !Array.isArray(resource.identifier))
      continue;
    for (const { system, value } of resource.identifier) {
      references.set(
        `${resource.resourceType}?identifier=${system}|${value}`,
        resource,
      );
    }
  }
  return references;
}

const LINK_TYPES = ['replaced-by', 'seealso'] as const;
type LinkType = (typeof LINK_TYPES)[number];

/** The ids of two linked Patients that are the same person. */
interface LinkedIds {
  first: string;
  second: string;
}

const linkedIds = (
  source: SourceName,
  samplePatientId: string,
  link: LinkType,
): LinkedIds => ({
  first: idAtSource(source, `${samplePatientId}/${link}/first`),
  second: idAtSource(source, `${samplePatientId}/${link}/second`),
});

/**
 * Splits a view between two linked Patients. With `replaced-by`, all data is at
 * the second one; with `seealso`, each has half of it.
 */
function splitView(
  view: PatientView,
  ids: LinkedIds,
  link: LinkType,
): [PatientView, PatientView] {
  const atFirst = (index: number) => link === 'seealso' && index % 2 === 0;
  const first = view.resources.filter((_, index) => atFirst(index));
  const second = view.resources.filter((_, index) => !atFirst(index));
  return [
    {
      ...moved(view, first, ids.first),
      patient: linked(view.patient, ids.first, ids.second, link),
    },
    {
      ...moved(view, second, ids.second),
      patient: linked(
        view.patient,
        ids.second,
        ids.first,
        link === 'seealso' ? 'seealso' : 'replaces',
      ),
    },
  ];
}

function moved(
  view: PatientView,
  resources: readonly FhirResource[],
  patientId: string,
): PatientView {
  const from = `Patient/${view.patient.id}`;
  const to = `Patient/${patientId}`;
  const resolve = (reference: string) => (reference === from ? to : reference);
  return {
    ...view,
    resources: resources.map((resource) =>
      withResolvedReferences(resource, resolve),
    ),
  };
}

const linked = (
  patient: Patient,
  id: string,
  otherId: string,
  type: LinkType | 'replaces',
): Patient => ({
  ...patient,
  id,
  active: type !== 'replaced-by',
  link: [{ other: { reference: `Patient/${otherId}` }, type }],
});
