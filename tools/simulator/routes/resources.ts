import type { Binary, BundleEntry } from 'fhir/r4.js';
import type { Operation } from '../../../src/local-stack/simulator/protocol.ts';
import {
  DOCUMENT_TYPES,
  PATIENT_TYPES,
  SHARED_TYPES,
} from '../data/knowledge.ts';
import { changedSince, firstPage, requestedSince } from '../paging.ts';
import {
  okResponse,
  refusalResponse,
  type SimulatedResponse,
  searchsetBundle,
} from '../response.ts';
import type { Source, SourceCall } from '../source.ts';
import { pathPart, patientParam, type Route, requestedCount } from './route.ts';

/**
 * Searches by type and reads by id. Searches for DocumentReference are a
 * separate operation in rules and log.
 */
export const resourceRoutes: Route[] = [
  ...searchRoutes('/DocumentReference', 'document', () => 'DocumentReference'),
  ...searchRoutes('/:type', 'search', (call) => pathPart(call, 'type')),
  {
    method: 'GET',
    path: '/Binary/:id',
    operation: 'binary',
    sample: (call) => call.source.data.binary(pathPart(call, 'id'))?.sample,
    answer: binary,
  },
  {
    method: 'GET',
    path: '/:type/:id',
    operation: 'read',
    sample: (call) => read(call)?.sample,
    answer: (call) => {
      const found = read(call);
      const [resource] = found
        ? changedSince(call, [found.resource], undefined)
        : [];
      return resource
        ? okResponse(resource)
        : refusalResponse(404, 'not-found', 'There is no such resource.');
    },
  },
];

function searchRoutes(
  path: string,
  operation: Operation,
  typeOf: (call: SourceCall) => string,
): Route[] {
  const common = {
    operation,
    sample: (call: SourceCall) =>
      call.source.data.sampleOf(patientParam(call) ?? ''),
    answer: (call: SourceCall) => search(call, typeOf(call)),
  };
  return [
    { method: 'GET', path, ...common },
    { method: 'POST', path: `${path}/_search`, ...common },
  ];
}

/** The types besides Patient and Binary. */
const servedTypes = ({ name, settings }: Source): readonly string[] =>
  settings().documentNetwork
    ? DOCUMENT_TYPES
    : [...PATIENT_TYPES[name], ...SHARED_TYPES[name]];

function search(call: SourceCall, type: string): SimulatedResponse {
  if (!servedTypes(call.source).includes(type))
    return refusalResponse(
      404,
      'not-supported',
      'This resource type is not supported.',
    );
  const id = call.params.get('_id');
  if (id) return okResponse(searchsetBundle(byId(call, type, id)));
  const status = call.params.get('status') ?? undefined;
  if (
    call.source.settings().documentNetwork &&
    type === 'DocumentReference' &&
    status === undefined
  )
    return refusalResponse(
      400,
      'required',
      'A search for documents must name their status (ITI-67).',
    );
  const patientId = patientParam(call);
  if (!patientId)
    return refusalResponse(400, 'too-costly', 'A search must name a patient.');
  if (!call.source.data.sampleOf(patientId))
    return okResponse(searchsetBundle([]));
  // A category is given as `code` or `system|code`.
  const categories = call.params
    .getAll('category')
    .flatMap((value) => value.split(','));
  const codes = categories.map((value) => value.split('|').at(-1) ?? '');
  const since = requestedSince(call);
  const asked = { patientId, types: [type], status, since };
  const wanted = {
    ...asked,
    ...(codes.length > 0 ? { categories: codes } : {}),
  };
  return firstPage(call, wanted, requestedCount(call));
}

/** Sources without times do not search for several ids at once. */
function byId(call: SourceCall, type: string, id: string): BundleEntry[] {
  const isTimed = call.source.settings().changes !== 'untimed';
  const found = [...new Set(isTimed ? id.split(',') : [id])].flatMap(
    (each) => call.source.data.read(type, each)?.resource ?? [],
  );
  return changedSince(call, found, requestedSince(call)).map((resource) => ({
    fullUrl: `${call.baseUrl}/${type}/${resource.id}`,
    resource,
    search: { mode: 'match' as const },
  }));
}

function binary(call: SourceCall): SimulatedResponse {
  const found = call.source.data.binary(pathPart(call, 'id'));
  if (!found)
    return refusalResponse(404, 'not-found', 'There is no such Binary.');
  if (!call.request.headers.accept?.includes('application/fhir+json')) {
    return { status: 200, contentType: found.contentType, body: found.bytes };
  }
  const resource: Binary = {
    resourceType: 'Binary',
    id: pathPart(call, 'id'),
    contentType: found.contentType,
    data: found.bytes.toString('base64'),
  };
  return okResponse(resource);
}

function read(call: SourceCall) {
  const type = pathPart(call, 'type');
  if (type !== 'Patient' && !servedTypes(call.source).includes(type))
    return undefined;
  return call.source.data.read(type, pathPart(call, 'id'));
}
