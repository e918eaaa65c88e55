import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Bundle, FhirResource } from 'fhir/r4.js';

/** A sample patient as a caller of the exchange knows it (`samples/patients.json`). Synthetic, made by Synthea. */
export interface SamplePatient {
  /** Short name used in fault rules, logs and tables, for example `adan-fuentes`. */
  key: string;
  fullName: string;
  /** A complete body of E4 (create patient), without its facility. */
  createBody: SampleCreateBody;
  /** Id of the Patient in the Synthea bundle. The sources give the patient ids of their own. */
  patientId: string;
  fhirFile: string;
  ccdaFile: string;
}

export interface SampleCreateBody {
  firstName: string;
  lastName: string;
  /** YYYY-MM-DD */
  dob: string;
  genderAtBirth: 'M' | 'F';
  address: {
    addressLine1: string;
    addressLine2?: string;
    city: string;
    state: string;
    zip: string;
    country: 'USA';
  }[];
  /** 10 digits. */
  contact: { phone: string }[];
  personalIdentifiers: (
    | { type: 'driversLicense'; value: string; state: string }
    | { type: 'ssn'; value: string }
  )[];
  externalId: string;
}

const SAMPLES = new URL('../../samples/', import.meta.url);

/** The people the simulated sources know, in the order of `samples/patients.json`. */
export function loadSamplePatients(): SamplePatient[] {
  return JSON.parse(readFileSync(new URL('patients.json', SAMPLES), 'utf8')) as SamplePatient[];
}

/** Everything Synthea wrote about the patient, the Patient first; references are still `urn:uuid:`. */
export function loadSampleResources(sample: SamplePatient): FhirResource[] {
  return readBundle(sample.fhirFile);
}

/** Practitioners, organizations and locations that the samples refer to by identifier. */
export function loadProviders(): FhirResource[] {
  return readBundle('providers.json.gz');
}

export function loadCcda(sample: SamplePatient): Buffer {
  return gunzipSync(readFileSync(new URL(sample.ccdaFile, SAMPLES)));
}

function readBundle(file: string): FhirResource[] {
  const bytes = gunzipSync(readFileSync(new URL(file, SAMPLES)));
  const bundle = JSON.parse(bytes.toString('utf8')) as Bundle<FhirResource>;
  return (bundle.entry ?? []).flatMap((entry) => (entry.resource ? [entry.resource] : []));
}
