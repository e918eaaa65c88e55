import { Readable } from 'node:stream';
import type { Bundle, BundleEntry, FhirResource } from 'fhir/r4.js';
import type { Fault } from '../../../src/local-stack/simulator/faults.ts';
import type { SimulatedResponse } from '../response.ts';
import type { SourceCall } from '../source.ts';

/** A response whose body may also be a stream. */
export interface SentResponse extends Omit<SimulatedResponse, 'body'> {
  body?: SimulatedResponse['body'] | Readable;
}

/**
 * Whether a fault can be applied to this response; otherwise it is kept for the
 * next one.
 */
export function canShow(fault: Fault, answer: SimulatedResponse): boolean {
  if (answer.status !== 200 || answer.body === undefined) return false;
  switch (fault.type) {
    case 'stray':
      return bundleOf(answer) !== undefined || isNdjson(answer);
    case 'foreign-link':
    case 'endless-pages':
      return bundleOf(answer) !== undefined;
    default:
      return true;
  }
}

/** Applies a fault to a correct response. */
export function applyToResponse(
  fault: Fault,
  answer: SimulatedResponse,
  call: SourceCall,
  sample: string | undefined,
): SentResponse {
  switch (fault.type) {
    case 'broken-json': {
      const text = textOf(answer);
      return { ...answer, body: text.slice(0, Math.floor(text.length / 2)) };
    }
    case 'wrong-content-type':
      return {
        status: 200,
        contentType: 'text/html; charset=utf-8',
        body: '<!doctype html><html><body><h1>Scheduled maintenance</h1></body></html>',
      };
    case 'giant-page':
      return { status: 200, body: Readable.from(giantBundle(fault.bytes)) };
    case 'stray':
      return withMisattributed(answer, strays(call, sample, fault.count), call);
    case 'foreign-link':
      return withNextLink(answer, () => fault.url);
    case 'endless-pages':
      return withNextLink(
        answer,
        (bundle) =>
          bundle.link?.find(({ relation }) => relation === 'self')?.url,
      );
    default:
      return answer;
  }
}

function strays(
  call: SourceCall,
  sample: string | undefined,
  count: number,
): FhirResource[] {
  const other = call.source.data.views().find((view) => view.sample !== sample);
  const patientId = `Patient/${other?.patient.id}`;
  return (other?.resources ?? [])
    .filter((resource) => JSON.stringify(resource).includes(patientId))
    .slice(0, count);
}

function withMisattributed(
  answer: SimulatedResponse,
  resources: readonly FhirResource[],
  call: SourceCall,
): SimulatedResponse {
  if (isNdjson(answer)) {
    const lines = resources
      .map((resource) => `${JSON.stringify(resource)}\n`)
      .join('');
    return { ...answer, body: `${textOf(answer)}${lines}` };
  }
  const entries = resources.map(
    (resource): BundleEntry => ({
      fullUrl: `${call.baseUrl}/${resource.resourceType}/${resource.id}`,
      resource,
      search: { mode: 'match' },
    }),
  );
  return withBundle(answer, (bundle) => ({
    ...bundle,
    entry: [...(bundle.entry ?? []), ...entries],
  }));
}

const withNextLink = (
  answer: SimulatedResponse,
  nextUrl: (bundle: Bundle) => string | undefined,
): SimulatedResponse =>
  withBundle(answer, (bundle) => {
    const url = nextUrl(bundle);
    const others = (bundle.link ?? []).filter(
      ({ relation }) => relation !== 'next',
    );
    return {
      ...bundle,
      link: url ? [...others, { relation: 'next', url }] : others,
    };
  });

function withBundle(
  answer: SimulatedResponse,
  change: (bundle: Bundle) => Bundle,
): SimulatedResponse {
  const outer = answer.body as Bundle;
  if (outer.type !== 'batch-response')
    return { ...answer, body: change(outer) };
  const entry = (outer.entry ?? []).map((item) => ({
    ...item,
    resource: change(item.resource as Bundle),
  }));
  return { ...answer, body: { ...outer, entry } };
}

const bundleOf = ({ body }: SimulatedResponse): Bundle | undefined =>
  typeof body === 'object' &&
  'resourceType' in body &&
  body.resourceType === 'Bundle'
    ? (body as Bundle)
    : undefined;

const isNdjson = ({ contentType }: SimulatedResponse): boolean =>
  contentType?.includes('ndjson') ?? false;

function textOf({ body }: SimulatedResponse): string {
  if (typeof body === 'string') return body;
  return Buffer.isBuffer(body) ? body.toString('utf8') : JSON.stringify(body);
}

/** A Bundle that is valid except for its size. */
function* giantBundle(bytes: number): Generator<Buffer> {
  const resource = {
    resourceType: 'Basic',
    id: 'filler',
    language: 'x'.repeat(60_000),
  };
  const entry = Buffer.from(JSON.stringify({ resource }));
  yield Buffer.from('{"resourceType":"Bundle","type":"searchset","entry":[');
  for (let sent = 0; sent < bytes; sent += entry.length + 1) {
    if (sent > 0) yield Buffer.from(',');
    yield entry;
  }
  yield Buffer.from(']}');
}
