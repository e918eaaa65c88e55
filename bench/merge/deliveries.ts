import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Bundle, FhirResource } from 'fhir/r4.js';
import type { CollectedResource } from '../../src/exchange/records/deliveries/delivery-store.ts';
import type { SamplePatient } from '../../src/local-stack/sample-patients.ts';
import type { SourceName } from '../../src/local-stack/simulator/protocol.ts';
import { idAtSource } from '../../tools/simulator/data/patient-view.ts';
import { createSourceData } from '../../tools/simulator/data/source-data.ts';

export interface SourceDelivery {
  source: SourceName;
  patientIds: string[];
  resources: FhirResource[];
}

/** The resources of a sample patient at the simulated sources. */
export function deliveriesOfSample(sample: SamplePatient): SourceDelivery[] {
  const data = createSourceData();
  return (['hie', 'pharmacy', 'lab'] as const).map((source) => {
    const id = idAtSource(source, sample.patientId);
    const view = data[source].view(id);
    return {
      source,
      patientIds: [id],
      resources: view === undefined ? [] : [view.patient, ...view.resources],
    };
  });
}

/**
 * A Synthea bundle as one source would deliver it: references by type and id.
 */
export function deliveriesOfBundle(file: string): SourceDelivery[] {
  const text = gunzipSync(readFileSync(file)).toString('utf8');
  const types = new Map(
    entriesOf(JSON.parse(text) as Bundle<FhirResource>).map(
      ({ resourceType, id }) => [String(id), resourceType],
    ),
  );
  const local = text.replaceAll(
    /"urn:uuid:([0-9a-f-]{36})"/g,
    (_, id: string) => `"${types.get(id) ?? 'Basic'}/${id}"`,
  );
  const resources = entriesOf(JSON.parse(local) as Bundle<FhirResource>);
  const patient = resources.find(
    ({ resourceType }) => resourceType === 'Patient',
  );
  return [{ source: 'hie', patientIds: [String(patient?.id)], resources }];
}

const entriesOf = (bundle: Bundle<FhirResource>): FhirResource[] =>
  (bundle.entry ?? []).flatMap(({ resource }) =>
    resource === undefined ? [] : [resource],
  );

/**
 * The `copy`-th repetition: other ids, and all dates that many years earlier,
 * so that no two resources are merged.
 */
export function copyOf(
  resources: readonly FhirResource[],
  copy: number,
): CollectedResource[] {
  return resources.map((resource) => {
    const shifted = JSON.stringify(resource)
      .replaceAll(
        /"(\d{4})(-\d{2}-\d{2})/g,
        (_, year: string, rest: string) => `"${Number(year) - copy}${rest}`,
      )
      .replaceAll(
        /"reference":"(?!Patient\/)([A-Za-z]+\/[^"]+)"/g,
        `"reference":"$1.${copy}"`,
      );
    const { id, resourceType } = resource;
    const sourceId = resourceType === 'Patient' ? String(id) : `${id}.${copy}`;
    const json = JSON.stringify({
      ...(JSON.parse(shifted) as object),
      id: sourceId,
    });
    return {
      resourceType,
      sourceId,
      json,
      revision: '',
      sha256: createHash('sha256').update(json).digest('hex'),
    };
  });
}
