import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Json } from '#record-summary/fhir';
import { fhirJson } from '../../../lib/written-decimals.ts';
import {
  SUBSCRIPTION_SCOPE,
  typesOfScopes,
} from '../../access/fhir-clients/rules/fhir-scopes.ts';
import { findPatients } from '../../people/patients/patient-store.ts';
import { insertAuditEntriesIn } from '../../platform/audit/audit-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  ConflictError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
} from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import {
  type DestinationDeps,
  destinationRules,
  type GatewayPlatform,
} from '../../platform/http/deps.ts';
import { checkETag, eTagHeader } from '../../platform/http/etag.ts';
import { FHIR_PATH } from '../../platform/http/operation-outcome.ts';
import { destinationProblem } from '../../platform/outbox/destination-guard.ts';
import {
  acceptFhirBodies,
  FHIR_JSON,
  searchEntry,
  searchIssues,
  searchsetOf,
} from '../fhir-api/bundles.ts';
import {
  checkSearch,
  pairsOf,
  requireJson,
  requireParameters,
  requireScope,
} from '../fhir-api/requests.ts';
import { valuesOf } from '../fhir-api/rules/search-request.ts';
import { showEvents } from './notifier.ts';
import {
  META_OF_SUBSCRIPTION,
  notificationOf,
  subscriptionStatus,
} from './rules/notification.ts';
import schema from './rules/subscription.schema.json' with { type: 'json' };
import {
  CONTENTS,
  codesIn,
  type Filter,
  readSubscription,
} from './rules/subscription-request.ts';
import { TOPICS } from './rules/topics.ts';
import {
  countCodes,
  deleteSubscription,
  type NewSubscription,
  readNumbered,
  readSubscriptions,
  SEARCHED,
  type StoredSubscription,
  type SubscriptionSearch,
  storeSubscription,
} from './subscription-store.ts';

type Deps = DestinationDeps &
  Pick<GatewayPlatform, 'store' | 'publicBaseUrl' | 'webhookKeys'>;

interface FhirResponse {
  json?: Json;
  status?: number;
  headers?: Record<string, string>;
  /** Whose data it shows, for the audit. */
  patientIds?: readonly string[];
  targetId?: string;
}
type Work = (tx: AccountTx, request: FastifyRequest) => Promise<FhirResponse>;

/**
 * Elements and extensions that are not known are refused: they could change
 * what a subscription means.
 */
const subscriptionSchema = z.fromJSONSchema(
  schema as z.core.JSONSchema.JSONSchema,
);
/** What Subscriptions of R5 have, and those of R4 have not. */
const R5_ELEMENTS = [
  'topic',
  'filterBy',
  'channelType',
  'endpoint',
  'content',
  'contentType',
];
const SUBSCRIPTIONS_MAX = 50;
/**
 * In the filters of all subscriptions of an account, each of which is stored
 * for itself: as many as 20 subscriptions with 15 value sets of 440.
 */
const CODES_MAX = 150_000;
/**
 * Events of one answer of `$events`; more are asked for by the number after the
 * last one.
 */
const EVENTS_MAX = {
  empty: 1_000,
  'id-only': 1_000,
  'full-resource': 100,
} as const;
const BODY_BYTES_MAX = 64 * 1024;
/** What a client may send back and has no effect: JSON leaves it out. */
const OURS = {
  id: undefined,
  meta: undefined,
  status: undefined,
  error: undefined,
};
/**
 * Stands for the value of a header, which is never shown again; sent back, the
 * header stays as it is.
 */
const HIDDEN = '********';

/**
 * `Subscription` with `$status` and `$events`, and the topics as Basic
 * resources, below /fhir/R4.
 */
export function addSubscriptionRoutes(app: FastifyInstance, deps: Deps): void {
  const base = `${deps.publicBaseUrl}${FHIR_PATH}`;
  acceptFhirBodies(app);
  app.addHook('preHandler', requireJson);
  app.addHook('preValidation', refuseR5);

  /** Adds a route whose work is one transaction, with its audit. */
  const route = (
    method: string,
    path: string,
    operation: string,
    work: Work,
  ): void =>
    void app.route({
      method,
      url: `${FHIR_PATH}/${path}`,
      exposeHeadRoute: false,
      bodyLimit: BODY_BYTES_MAX,
      schema: {
        hide: true,
        ...(/Create|Update/.test(operation) && { body: subscriptionSchema }),
      },
      config: { operation, scope: 'read' },
      handler: async (request, reply) => {
        const { account, actor } = callerOf(request);
        if (/Status|Events/.test(operation)) requireParameters(request);
        const answer = await deps.store.asAccount(account.id, async (tx) => {
          const {
            status = 200,
            patientIds = [],
            targetId,
            ...others
          } = await work(tx, request);
          const entry = {
            actor,
            operation,
            targetId,
            outcome: String(status),
            remoteAddress: request.ip,
          };
          const about =
            patientIds.length === 0 ? [undefined] : [...new Set(patientIds)];
          const entries = about.map((patientId) => ({ ...entry, patientId }));
          await insertAuditEntriesIn(tx, entries);
          return { ...others, status };
        });
        reply
          .code(answer.status)
          .headers({ ...answer.headers, 'cache-control': 'no-store' });
        return answer.json
          ? reply.type(FHIR_JSON).send(fhirJson(answer.json))
          : reply.send();
      },
    });

  /**
   * The subscriptions that the caller may see: with a token its own, with an
   * API key those of the account.
   */
  function ownOf(
    tx: AccountTx,
    request: FastifyRequest,
    search: SubscriptionSearch,
  ): Promise<StoredSubscription[]> {
    const { actor, fhirScopes } = callerOf(request);
    if (fhirScopes?.includes(SUBSCRIPTION_SCOPE) !== true)
      requireScope(request, 'Subscription');
    return readSubscriptions(tx, search, fhirScopes && actor);
  }
  async function oneOf(
    tx: AccountTx,
    request: FastifyRequest,
  ): Promise<StoredSubscription> {
    const [row] = await ownOf(tx, request, {
      _id: [(request.params as { id: string }).id.toLowerCase()],
    });
    if (row === undefined) throw new NotFoundError('Subscription');
    return row;
  }
  const answerOf = (row: StoredSubscription): FhirResponse => ({
    json: subscriptionOf(row, deps),
    headers: eTagHeader(row),
    targetId: row.id,
  });
  /** A page with everything, for there are few subscriptions and topics. */
  function listOf(
    request: FastifyRequest,
    resources: readonly Json[],
    ignored: string[] = [],
  ): FhirResponse {
    const self = {
      relation: 'self' as const,
      url: `${deps.publicBaseUrl}${request.url}`,
    };
    // A status has no address.
    const entries = resources.map((resource) => ({
      ...searchEntry(base, resource, { mode: 'match' as const }),
      ...(resource.resourceType === 'Parameters' && {
        fullUrl: `urn:uuid:${String(resource.id)}`,
      }),
    }));
    const of = { links: [self], total: entries.length };
    return { json: searchsetOf(of, entries, searchIssues(ignored, undefined)) };
  }

  route(
    'POST',
    'Subscription',
    'fhirSubscriptionCreate',
    async (tx, request) => {
      if ((await readSubscriptions(tx, {})).length >= SUBSCRIPTIONS_MAX)
        throw new ConflictError(
          `The account has the maximum of ${SUBSCRIPTIONS_MAX} subscriptions`,
        );
      const id = await storeSubscription(
        tx,
        await newSubscription(tx, request, deps),
      );
      const [answer = {}] = (await readSubscriptions(tx, { _id: [id] })).map(
        answerOf,
      );
      return {
        ...answer,
        status: 201,
        headers: { ...answer.headers, location: `${base}/Subscription/${id}` },
      };
    },
  );
  route(
    'PUT',
    'Subscription/:id',
    'fhirSubscriptionUpdate',
    async (tx, request) => {
      const known = await oneOf(tx, request);
      checkETag('The subscription', request.headers)(known);
      const { id = known.id } = request.body as { id?: string };
      if (id.toLowerCase() !== known.id)
        throw new InvalidRequestError([
          { path: 'id', message: 'is not the id in the URL' },
        ]);
      await storeSubscription(
        tx,
        await newSubscription(tx, request, deps, known),
        known.id,
      );
      return answerOf(await oneOf(tx, request));
    },
  );
  route(
    'DELETE',
    'Subscription/:id',
    'fhirSubscriptionDelete',
    async (tx, request) => {
      requireManaging(request);
      const { id } = await oneOf(tx, request);
      await deleteSubscription(tx, id);
      return { status: 204, targetId: id };
    },
  );
  route(
    'GET',
    'Subscription/:id',
    'fhirSubscriptionRead',
    async (tx, request) => answerOf(await oneOf(tx, request)),
  );
  const search: Work = async (tx, request) => {
    const pairs = pairsOf(request);
    const wanted = Object.fromEntries(
      SEARCHED.flatMap((name) => {
        const [first, ...others] = pairs.flatMap(([given, value]) =>
          given === name ? [new Set(valuesOf(value))] : [],
        );
        if (first === undefined) return [];
        const isInAll = (value: string) =>
          others.every((other) => other.has(value));
        return [[name, [...first].filter(isInAll)]];
      }),
    ) as SubscriptionSearch;
    const ignored = pairs.flatMap(([name]) =>
      name === '_format' || Object.hasOwn(wanted, name) ? [] : [name],
    );
    const modified = ignored.filter((name) =>
      SEARCHED.some((each) => name.startsWith(`${each}:`)),
    );
    const faults = modified.map((parameter) => ({
      parameter,
      message: 'has a modifier; none is supported',
    }));
    checkSearch(request, { faults, ignored });
    const found = (await ownOf(tx, request, wanted)).map((row) =>
      subscriptionOf(row, deps),
    );
    return listOf(request, found, ignored);
  };
  route('GET', 'Subscription', 'fhirSubscriptionSearch', search);
  route('POST', 'Subscription/_search', 'fhirSubscriptionSearch', search);

  const status: Work = async (tx, request) => {
    const { id } = request.params as { id?: string };
    // Repeated values are alternatives. With one subscription these parameters
    // have no effect.
    const asked = (name: string) => {
      const values = pairsOf(request).flatMap(([given, value]) =>
        given === name ? valuesOf(value) : [],
      );
      return values.length === 0 ? undefined : values;
    };
    const search =
      id === undefined
        ? { _id: asked('id'), status: asked('status') }
        : undefined;
    const rows =
      search === undefined
        ? [await oneOf(tx, request)]
        : await ownOf(tx, request, search);
    const statuses = rows.map((row) =>
      subscriptionStatus(row, base, 'query-status'),
    );
    return { ...listOf(request, statuses), targetId: id };
  };
  const events: Work = async (tx, request) => {
    const row = await oneOf(tx, request);
    const pairs = new Map(pairsOf(request));
    const [since = 1, wanted = row.events] = [
      'eventsSinceNumber',
      'eventsUntilNumber',
    ].map((name) => {
      const value = pairs.get(name) ?? '';
      if (/^\d{0,15}$/.test(value))
        return value === '' ? undefined : Math.max(1, Number(value));
      throw new InvalidRequestError([
        { path: name, message: 'is not the number of an event' },
      ]);
    });
    // At most what the subscription has.
    const least = CONTENTS.findIndex(
      (each) => each === (pairs.get('content') ?? row.content),
    );
    const content = CONTENTS[Math.min(least, CONTENTS.indexOf(row.content))];
    if (content === undefined)
      throw new InvalidRequestError([
        { path: 'content', message: `must be one of ${CONTENTS.join(', ')}` },
      ]);
    const until = Math.min(wanted, row.events, since + EVENTS_MAX[content] - 1);
    const found = await readNumbered(tx, {
      id: row.id,
      since,
      limit: EVENTS_MAX[content],
    });
    const rows = found.filter(
      ({ number, events: own }) => number - own.length < until,
    );
    const types = typesOfScopes(
      callerOf(request).fhirScopes ?? ['system/*.rs'],
    );
    const shown = await showEvents(tx, rows, { types, content, base });
    const byNumber = new Map(shown.map((event) => [event.number, event]));
    // What is no longer kept, because its patient was deleted or its time is
    // over, has its number only.
    const numbers = Array.from(
      { length: Math.max(0, until - since + 1) },
      (_, index) => since + index,
    );
    const all = numbers.map((number) => byNumber.get(number) ?? { number });
    const patientIds =
      content === 'empty' ? [] : rows.map(({ patientId }) => patientId);
    const json = notificationOf({ ...row, content }, base, 'query-event', all);
    return { json, patientIds, targetId: row.id };
  };
  for (const method of ['GET', 'POST']) {
    route(method, 'Subscription/$status', 'fhirSubscriptionStatus', status);
    route(method, 'Subscription/:id/$status', 'fhirSubscriptionStatus', status);
    route(method, 'Subscription/:id/$events', 'fhirSubscriptionEvents', events);
  }

  const basics = TOPICS.map(({ basic }) => basic);
  route('GET', 'Basic', 'fhirTopics', async (_tx, request) =>
    listOf(request, basics),
  );
  route('GET', 'Basic/:id', 'fhirTopics', async (_tx, request) => {
    const json = basics.find(
      ({ id }) => id === (request.params as { id: string }).id,
    );
    if (json === undefined) throw new NotFoundError('Basic');
    return { json };
  });
}

/** @throws InvalidRequestError for a Subscription in the shape of R5 */
async function refuseR5({ body }: FastifyRequest): Promise<void> {
  const found = R5_ELEMENTS.filter((name) => Object.hasOwn(Object(body), name));
  const message =
    'is of R5; send a Subscription of R4, with the topic in criteria and the endpoint in channel';
  if (found.length > 0)
    throw new InvalidRequestError([{ path: found.join(', '), message }]);
}

/**
 * @throws ForbiddenError unless the caller may create, change and delete
 *   subscriptions
 */
function requireManaging(request: FastifyRequest): void {
  const { fhirScopes, scopes } = callerOf(request);
  const [had, needed] =
    fhirScopes === undefined
      ? [scopes, 'write']
      : [fhirScopes, SUBSCRIPTION_SCOPE];
  if (!had.some((scope) => scope === needed))
    throw new ForbiddenError(
      `This requires the scope ${needed}; your credential has: ${had.join(' ')}`,
    );
}

/** @throws ConflictError when the account's filters would have too many codes */
async function requireFewCodes(
  tx: AccountTx,
  filters: readonly Filter[],
  replaced: string | undefined,
): Promise<void> {
  const own = codesIn(filters);
  if (own === 0) return;
  const before = await countCodes(tx, replaced);
  if (before + own > CODES_MAX)
    throw new ConflictError(
      `The filters of all subscriptions of the account have at most ${CODES_MAX} codes together; the others have ${before}, and this one has ${own}`,
    );
}

/**
 * Checks a Subscription against what the caller may see, and prepares it to be
 * stored.
 *
 * @param known the subscription that it replaces
 * @throws InvalidRequestError, or ForbiddenError when the scopes of the caller
 *   do not cover what it asks for
 */
async function newSubscription(
  tx: AccountTx,
  request: FastifyRequest,
  deps: Deps,
  known?: StoredSubscription,
): Promise<NewSubscription> {
  requireManaging(request);
  const { actor, fhirScopes = null } = callerOf(request);
  const resource = request.body as NewSubscription['resource'];
  const read = readSubscription(
    resource,
    `${deps.publicBaseUrl}${FHIR_PATH}`,
    (url) => destinationProblem(url, destinationRules(deps)),
  );
  if ('faults' in read) throw new InvalidRequestError(read.faults);
  const { request: asked } = read;
  const { topic, filters } = asked;
  for (const type of [topic.type, ...filters.map((filter) => filter.type)])
    if (type !== undefined) requireScope(request, type);
  await requireFewCodes(tx, filters, known?.id);
  const patients = [
    ...new Set(filters.flatMap((filter) => filter.patients ?? [])),
  ];
  if ((await findPatients(tx, patients)).length < patients.length)
    throw new InvalidRequestError([
      {
        path: '_criteria',
        message: 'names a Patient that does not exist here',
      },
    ]);
  // A value that is never shown must not become known by sending it to somebody
  // else.
  const isSamePlace =
    known !== undefined && originOf(known) === originOf({ resource });
  const before = isSamePlace ? headersOf(known, deps) : {};
  const headers = Object.entries(asked.headers).map(([name, value]) => {
    const kept = value === HIDDEN ? before[name] : value;
    if (kept !== undefined) return [name, kept];
    throw new InvalidRequestError([
      { path: 'channel.header', message: `${name} has no value yet; send it` },
    ]);
  });
  const types = typesOfScopes(fhirScopes ?? ['system/*.rs']);
  return {
    request: asked,
    actor,
    scopes: fhirScopes,
    types: types === undefined ? null : [...types],
    // Without what is ours to say, and the headers.
    resource: {
      ...resource,
      ...OURS,
      channel: { ...resource.channel, header: undefined },
    },
    headers: deps.webhookKeys.seal(JSON.stringify(Object.fromEntries(headers))),
  };
}

const originOf = ({ resource }: Pick<NewSubscription, 'resource'>): string =>
  new URL(resource.channel.endpoint).origin;
const headersOf = (row: StoredSubscription, { webhookKeys }: Deps) =>
  JSON.parse(webhookKeys.open(row.headers)) as Record<string, string>;

/**
 * A subscription in responses: with its status, and without the values of its
 * headers.
 */
function subscriptionOf(row: StoredSubscription, deps: Deps): Json {
  const { channel, ...rest } = row.resource;
  const header = Object.keys(headersOf(row, deps)).map(
    (name) => `${name}: ${HIDDEN}`,
  );
  const versionId = String(row.version);
  const lastUpdated = row.updated_at.toISOString();
  return {
    resourceType: 'Subscription',
    id: row.id,
    meta: { versionId, lastUpdated, ...META_OF_SUBSCRIPTION },
    ...rest,
    status: row.status,
    ...(row.error !== null && { error: row.error }),
    channel: { ...channel, ...(header.length > 0 && { header }) },
  };
}
