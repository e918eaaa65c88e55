import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Bundle, FhirResource } from 'fhir/r4.js';
import type { SamplePatient } from '../../src/local-stack/sample-patients.ts';

const SAMPLES = new URL('../../samples/', import.meta.url);

/**
 * The patient's whole Synthea record, the Patient first; references are still
 * `urn:uuid:`.
 */
export const loadSampleResources = (sample: SamplePatient): FhirResource[] =>
  readBundle(sample.fhirFile);

/**
 * Practitioners, organizations and locations that the samples refer to by
 * identifier.
 */
export const loadProviders = (): FhirResource[] =>
  readBundle('providers.json.gz');

export const loadCcda = (sample: SamplePatient): Buffer =>
  gunzipSync(readFileSync(new URL(sample.ccdaFile, SAMPLES)));

function readBundle(file: string): FhirResource[] {
  const bytes = gunzipSync(readFileSync(new URL(file, SAMPLES)));
  const bundle = JSON.parse(bytes.toString('utf8')) as Bundle<FhirResource>;
  return (bundle.entry ?? []).flatMap((entry) =>
    entry.resource ? [entry.resource] : [],
  );
}
