import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Json, rangeOf } from '#record-summary/fhir';
import { fhirJson } from '../../../lib/written-decimals.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import {
  ExchangeError,
  NotFoundError,
  orNotFound,
} from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import { completenessMeta } from '../../records/reading/completeness.ts';
import {
  type ConsolidatedPlace,
  readConsolidated,
} from '../../records/reading/read-consolidated.ts';
import { findResources } from '../../records/reading/record-search-store.ts';
import { withAddressesAt } from '../../records/rules/attachment-addresses.ts';
import {
  CLINICAL_TYPES,
  SUPPORTING_TYPES,
} from '../../records/rules/resource-types.ts';
import { findAttachment } from '../documents/document-store.ts';
import { orGone } from '../documents/renditions.ts';
import {
  notWithdrawn,
  sendDocument,
  servedTypeOf,
} from '../documents/routes.ts';
import { type BundleLink, FHIR_JSON, searchEntry } from './bundles.ts';
import { readRecordedConsents } from './recorded-consents.ts';
import {
  checkSearch,
  type FhirDeps,
  pairsOf,
  permittedTypes,
  requireScope,
} from './requests.ts';
import {
  COUNT_MAX,
  type PairOutcome,
  readPairs,
  type SearchPair,
  UUID,
  valuesOf,
} from './rules/search-request.ts';
import {
  asServed,
  readServed,
  type ServedResource,
  servedProvenance,
} from './search-record.ts';
import {
  openSearchPage,
  requirePatient,
  requireType,
} from './search-routes.ts';

const schema = { hide: true };

/** `GET /fhir/R4/<Type>/<id>` and `GET /fhir/R4/Patient/<id>/$everything`. */
export function addReadRoutes(app: FastifyInstance, deps: FhirDeps): void {
  app.get<{ Params: { type: string; id: string } }>(
    `${deps.path}/:type/:id`,
    {
      schema,
      config: { operation: 'fhirRead', scope: 'read' },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const { type, id } = request.params;
      requireType(type);
      requireScope(request, type);
      const { resource, lastModified } = await readOne(deps, request, type, id);
      return reply
        .type(FHIR_JSON)
        .headers({
          'cache-control': 'no-store',
          'last-modified': lastModified.toUTCString(),
        })
        .send(fhirJson(withAddressesAt(deps.base, resource)));
    },
  );

  app.route<{ Params: { id: string } }>({
    method: ['GET', 'POST'],
    url: `${deps.path}/Patient/:id/$everything`,
    exposeHeadRoute: false,
    schema,
    config: { operation: 'fhirEverything', scope: 'read' },
    handler: async (request, reply) => {
      const { id: patientId } = request.params;
      if (!UUID.test(patientId)) throw new NotFoundError('Patient');
      const { id: accountId } = callerOf(request).account;
      await requirePatient(deps, accountId, patientId);
      const path = `Patient/${patientId.toLowerCase()}/$everything`;
      const { pairs, place } = await openSearchPage<ConsolidatedPlace>(
        deps,
        path,
        pairsOf(request),
      );
      const { request: asked, faults } = parseEverything(pairs);
      checkSearch(request, { faults, ignored: asked.ignored });
      const types = permittedTypes(request, asked.types);
      if (place === undefined) await deps.records.merge(accountId, patientId);
      await deps.audit.write(request, [patientId]);
      const bundle = everythingBundle(deps, {
        ...asked,
        types,
        accountId,
        patientId: patientId.toLowerCase(),
        after: place,
        path,
        pairs,
      });
      return reply
        .type(FHIR_JSON)
        .header('cache-control', 'no-store')
        .send(Readable.from(bundle));
    },
  });
}

async function readOne(
  deps: FhirDeps,
  request: FastifyRequest,
  type: string,
  id: string,
): Promise<{ resource: Json; lastModified: Date }> {
  const { id: accountId } = callerOf(request).account;
  if (!UUID.test(id)) throw new NotFoundError(type);
  const wanted = id.toLowerCase();
  const [consent] =
    type === 'Consent'
      ? await deps.store.asAccount(accountId, (tx) =>
          readRecordedConsents(tx, [wanted]),
        )
      : [];
  if (consent !== undefined) {
    await deps.audit.write(request, [consent.patientId], wanted);
    return {
      resource: consent.resource.json,
      lastModified: consent.resource.changedAt,
    };
  }
  const patientId =
    type === 'Patient'
      ? wanted
      : await patientOfResource(deps, accountId, type, wanted);
  if (type === 'Patient') await requirePatient(deps, accountId, patientId);
  await deps.records.merge(accountId, patientId);
  const found = await deps.store.asAccount(accountId, async (tx) => {
    if (type === 'Patient')
      return readServed(tx, patientId, [{ resourceType: type, id: wanted }]);
    const [standing] = (await findResources(tx, [wanted])).filter(
      ({ goneAt }) => goneAt === null,
    );
    if (standing === undefined) return [];
    return readServed(tx, patientId, [
      { resourceType: standing.resourceType, id: standing.resourceId },
    ]);
  });
  const [resource] = found;
  const isGenerated = resource !== undefined && resource.id !== wanted;
  const json = isGenerated
    ? servedProvenance(resource, patientId)
    : resource?.json;
  // The merge has just removed it.
  if (
    resource === undefined ||
    json === undefined ||
    json.resourceType !== type
  )
    throw gone();
  await deps.audit.write(request, [patientId], wanted);
  return { resource: json, lastModified: resource.changedAt };
}

const gone = () =>
  new ExchangeError(
    410,
    'This resource is no longer part of the record: its source deleted or changed it',
  );

/**
 * The patient whose record contains the resource.
 *
 * @throws NotFoundError when there never was one, ExchangeError 410 when it has
 *   gone
 */
async function patientOfResource(
  deps: FhirDeps,
  accountId: string,
  type: string,
  id: string,
): Promise<string> {
  const standings = await deps.store.asAccount(accountId, (tx) =>
    findResources(tx, [id]),
  );
  const own = standings.filter((each) =>
    each.provenanceId === id
      ? type === 'Provenance'
      : each.resourceType === type,
  );
  const standing = orNotFound(type, own[0]);
  if (own.every(({ goneAt }) => goneAt !== null)) throw gone();
  return standing.patientId;
}

interface EverythingOptions extends EverythingRequest {
  accountId: string;
  patientId: string;
  after?: ConsolidatedPlace;
  /** The path below `base` and the parameters, for the links to the pages. */
  path: string;
  pairs: readonly SearchPair[];
}

const READ_AT_ONCE = 200;

/**
 * Yields `$everything` as the JSON text of a Bundle, in pieces and in bounded
 * memory: the Patient first, then by type, newest first, each resource followed
 * by its Provenance. A slow reader does not hold a database connection.
 */
async function* everythingBundle(
  { store, readStanding, base, cursors }: FhirDeps,
  {
    accountId,
    patientId,
    types,
    dateFrom,
    dateTo,
    since,
    count,
    ...from
  }: EverythingOptions,
): AsyncGenerator<string> {
  const { after: start, path, pairs } = from;
  const withProvenance = types === undefined || types.includes('Provenance');
  // Read first, so that data which arrives while we read is reported as still
  // missing.
  const meta = completenessMeta(
    await store.asAccount(accountId, (tx) => readStanding(tx, patientId)),
  );
  yield `{"resourceType":"Bundle"${meta === undefined ? '' : `,"meta":${JSON.stringify(meta)}`},"type":"searchset","timestamp":"${new Date().toISOString()}"`;
  /** The resource, if its type was asked for, and its Provenance. */
  const entriesWith = (resource: ServedResource) => {
    if (since !== undefined && resource.changedAt <= new Date(since)) return [];
    const isWanted = types?.includes(resource.resourceType) !== false;
    const provenance = withProvenance
      ? servedProvenance(resource, patientId)
      : undefined;
    return [
      ...(isWanted
        ? [searchEntry(base, resource.json, { mode: 'match' })]
        : []),
      ...(provenance === undefined
        ? []
        : [
            searchEntry(base, provenance, {
              mode: isWanted ? 'include' : 'match',
            }),
          ]),
    ];
  };
  let separator = ',"entry":[';
  let after = start;
  let left = count ?? Number.POSITIVE_INFINITY;
  do {
    const page = await store.asAccount(accountId, async (tx) => {
      const { resources, next } = await readConsolidated(
        tx,
        patientId,
        // The Provenance of each resource is made of it.
        { types: withProvenance ? undefined : types, dateFrom, dateTo },
        after,
        Math.min(left, READ_AT_ONCE),
      );
      return { resources: await asServed(tx, patientId, resources), next };
    });
    for (const resource of page.resources) {
      for (const entry of entriesWith(resource)) {
        yield `${separator}${fhirJson(entry)}`;
        separator = ',';
      }
    }
    left -= page.resources.filter(({ id }) => id !== patientId).length;
    after = page.next;
  } while (after !== undefined && left > 0);
  const url = `${base}/${path}`;
  const cursor = after && (await cursors.write({ path, pairs, place: after }));
  const links = pageLinks(url, cursor);
  // FHIR forbids empty arrays.
  yield `${separator === ',' ? ']' : ''},"link":${JSON.stringify(links)}}`;
}

const pageLinks = (url: string, cursor: string | undefined): BundleLink[] =>
  cursor === undefined
    ? [{ relation: 'self', url }]
    : [
        { relation: 'self', url },
        { relation: 'next', url: `${url}?_page=${cursor}` },
      ];

/** The parameters of `$everything`. */
interface EverythingRequest {
  types?: string[];
  dateFrom?: string;
  dateTo?: string;
  /** Only resources that changed after this time; instant in UTC. */
  since?: string;
  /**
   * Entries per page, without their Provenance; without it, everything is in
   * one Bundle.
   */
  count?: number;
  used: SearchPair[];
  ignored: string[];
}

function parseEverything(pairs: readonly SearchPair[]) {
  const request: EverythingRequest = { used: [], ignored: [] };
  return readPairs(request, pairs, (name, value) =>
    readPair(request, name, value),
  );
}

function readPair(
  request: EverythingRequest,
  name: string,
  value: string,
): PairOutcome {
  const range = rangeOf(value.replace(' ', '+'));
  const ofRange = range === undefined ? NOT_A_DATE : 'used';
  switch (name) {
    case '_type': {
      request.types = [...(request.types ?? []), ...valuesOf(value)];
      const unknown = request.types.find(
        (type) => !CLINICAL_TYPES.has(type) && !SUPPORTING_TYPES.has(type),
      );
      return unknown === undefined
        ? 'used'
        : { fault: 'contains a type that is not served here' };
    }
    case 'start':
      request.dateFrom = range?.firstDay;
      return ofRange;
    case 'end':
      request.dateTo = range?.lastDay;
      return ofRange;
    case '_since':
      request.since = range?.from;
      return ofRange;
    case '_count': {
      const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
      request.count = Math.min(count, COUNT_MAX);
      return count < 1 ? { fault: 'is not a number from 1 on' } : 'used';
    }
    case '_format':
    case '_pretty':
      return 'used';
    default:
      return 'ignored';
  }
}

const NOT_A_DATE = {
  fault: 'is not a date such as 2026-05-01 or 2026-05-01T12:00:00Z',
};

/**
 * FHIR R4, Binary: only a client that asks for FHIR's own type gets the
 * resource, with the content in base64.
 */
const ASKS_FOR_RESOURCE = /^\s*application\/fhir\+json\b/i;

/**
 * `GET /fhir/R4/Binary/<id>`: the stored document that
 * `DocumentReference.content.attachment.url` names.
 */
export function addBinaryRoute(
  app: FastifyInstance,
  deps: FhirDeps & { blobs: BlobStore },
): void {
  app.get<{ Params: { id: string } }>(
    `${deps.path}/Binary/:id`,
    {
      schema,
      config: { operation: 'fhirReadBinary', scope: 'read' },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const document = await findBinary(deps, request, request.params.id);
      reply.header('cache-control', 'no-store').header('vary', 'accept');
      const contentType = servedTypeOf(document);
      if (!ASKS_FOR_RESOURCE.test(request.headers.accept ?? ''))
        return sendDocument(deps.blobs, document, reply);
      const content = await orGone(deps.blobs.get(document.blobRef));
      const head = JSON.stringify({
        resourceType: 'Binary',
        id: document.id,
        contentType,
      }).slice(0, -1);
      return reply
        .type(FHIR_JSON)
        .send(Readable.from(binaryJson(head, content)));
    },
  );
}

/** A stored document of a record that the caller may read; audited. */
export async function findBinary(
  deps: FhirDeps,
  request: FastifyRequest,
  id: string,
) {
  requireScope(request, 'DocumentReference');
  if (!UUID.test(id)) throw new NotFoundError('Binary');
  const { id: accountId } = callerOf(request).account;
  const document = notWithdrawn(
    await deps.store.asAccount(accountId, (tx) =>
      findAttachment(tx, id.toLowerCase()),
    ),
  );
  // Documents of messages that were assigned to nobody are not part of a
  // record.
  if (document.patientId === null) throw new NotFoundError('Binary');
  await deps.audit.write(request, [document.patientId], document.id);
  return document;
}

/**
 * The JSON text of a Binary, in pieces: base64 is written in multiples of three
 * bytes.
 */
async function* binaryJson(
  head: string,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<string> {
  yield `${head},"data":"`;
  let rest = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield `${rest.toString('base64')}"}`;
}
