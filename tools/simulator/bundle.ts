import type { Bundle, BundleEntry, FhirResource } from 'fhir/r4.js';

export interface BundleLinks {
  total?: number;
  selfUrl?: string;
  nextUrl?: string;
}

export function searchset(entry: BundleEntry[], { total, selfUrl, nextUrl }: BundleLinks = {}): Bundle {
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    total: total ?? entry.length,
    link: [
      ...(selfUrl ? [{ relation: 'self', url: selfUrl }] : []),
      ...(nextUrl ? [{ relation: 'next', url: nextUrl }] : []),
    ],
    entry,
  };
}

/** Wraps the result of an asynchronous request in a batch-response Bundle. */
export function batchResponse(resource: FhirResource): Bundle {
  return {
    resourceType: 'Bundle',
    type: 'batch-response',
    entry: [{ response: { status: '200 OK' }, resource }],
  };
}
