import { SERVED_TYPES } from '../../../records/rules/resource-types.ts';
import {
  type Alternative,
  alternativeOf,
  searchParametersOf,
} from '../../../records/rules/search.ts';
import { UUID, valuesOf } from '../../fhir-api/rules/search-request.ts';
import { TOPICS, type Topic } from './topics.ts';

/** From the least to the most. */
export const CONTENTS = ['empty', 'id-only', 'full-resource'] as const;
export type Content = (typeof CONTENTS)[number];

/**
 * A filter for one type of focus. An event passes if it passes all filters for
 * its type, and there is one; `passing_items` in 0310-subscriptions-by-index.sql
 * decides, and `passes_filters` in 0210-subscriptions.sql for other topics.
 */
export interface Filter {
  type: string;
  /** Ids of patients; null: all. */
  patients: string[] | null;
  /** An event must have a code of each list. */
  triggers: string[][];
  /** What the resource must match, as in a search: one alternative of each. */
  clauses: Alternative[][];
}

/** What a Subscription asks for. */
export interface SubscriptionRequest {
  topic: Topic;
  content: Content;
  filters: Filter[];
  headers: Record<string, string>;
  heartbeatSeconds: number | null;
  timeoutMs: number | null;
  /** Events in one notification at most. */
  maxCount: number;
  endsAt: Date | null;
  isOff: boolean;
}

interface Extension {
  url: string;
  valueUnsignedInt?: number;
  valuePositiveInt?: number;
  valueString?: string;
  valueCode?: Content;
}

/**
 * A Subscription of R4 by the profile of the guide, as far as it is supported
 * here (subscription.schema.json).
 */
export interface SubscriptionResource {
  status?: string;
  end?: string;
  criteria: string;
  _criteria?: { extension?: Extension[] };
  channel: {
    extension?: Extension[];
    endpoint: string;
    payload: string;
    _payload: { extension: [Extension] };
    header?: string[];
  };
}

/**
 * Events in one notification, whatever the subscription permits: they are read
 * at once.
 */
const EVENTS_MAX = 20;
/** Parameters of one filter about the content of resources. */
const CLAUSES_MAX = 20;
/** Reconcile sends heartbeats, by default each minute. */
const HEARTBEAT_MIN_SECONDS = 60;
/** These belong to the connection, or say what the body is. */
const OWN_HEADERS =
  /^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|traceparent|proxy-.*)$/i;

/**
 * Reads a Subscription that has the shape of the schema.
 *
 * @param base URL of the FHIR API, for references by whole URLs
 * @param endpointProblem why nothing may be sent to an endpoint
 */
export function readSubscription(
  resource: SubscriptionResource,
  base: string,
  endpointProblem: (url: string) => string | undefined,
):
  | { request: SubscriptionRequest }
  | { faults: { path: string; message: string }[] } {
  const { channel, criteria, end, _criteria: filterBy } = resource;
  const faults: { path: string; message: string }[] = [];
  const fault = (path: string, message: string | false | undefined) => {
    if (message) faults.push({ path, message });
  };
  const topic = TOPICS.find(({ url }) => url === criteria);
  const known = TOPICS.map(({ url }) => url).join(' ');
  fault(
    'criteria',
    topic === undefined &&
      `is no topic of this server; its topics are: ${known}`,
  );
  const filters = (filterBy?.extension ?? []).flatMap(
    ({ valueString = '' }, index) => {
      const filter =
        topic === undefined ? '' : readFilter(valueString, topic, base);
      if (typeof filter === 'object') return [filter];
      fault(`_criteria.extension[${index}]`, filter);
      return [];
    },
  );
  const headers = (channel.header ?? []).map((line) => {
    const [name = '', ...value] = line.split(':');
    return [name, value.join(':').trim()];
  });
  const names = headers.map(([name = '']) => name.toLowerCase());
  for (const [index, name] of names.entries()) {
    const isRefused = OWN_HEADERS.test(name) || names.indexOf(name) < index;
    fault(
      `channel.header[${index}]`,
      isRefused && `${name} is set by this server, or given twice`,
    );
  }
  const numberOf = (name: string): number | undefined => {
    const given =
      channel.extension?.filter(({ url }) =>
        url.endsWith(`/backport-${name}`),
      ) ?? [];
    const [value] = given.map((each) =>
      name === 'max-count' ? each.valuePositiveInt : each.valueUnsignedInt,
    );
    const isRefused =
      given.length > 1 || (given.length > 0 && value === undefined);
    fault(
      'channel.extension',
      isRefused && `${name} needs one number of its type`,
    );
    return value;
  };
  const heartbeat = numberOf('heartbeat-period');
  const timeout = numberOf('timeout');
  const most = numberOf('max-count');
  const tooOften = `must be at least ${HEARTBEAT_MIN_SECONDS} seconds for backport-heartbeat-period`;
  fault(
    'channel.extension',
    (heartbeat ?? HEARTBEAT_MIN_SECONDS) < HEARTBEAT_MIN_SECONDS && tooOften,
  );
  fault('channel.endpoint', endpointProblem(channel.endpoint));
  fault(
    'end',
    end !== undefined && Date.parse(end) <= Date.now() && 'is in the past',
  );
  if (topic === undefined || faults.length > 0) return { faults };
  const request = {
    topic,
    filters,
    headers: Object.fromEntries(headers) as Record<string, string>,
    content: channel._payload.extension[0].valueCode ?? 'empty',
    heartbeatSeconds: heartbeat ?? null,
    timeoutMs: timeout === undefined ? null : timeout * 1_000,
    maxCount: Math.min(EVENTS_MAX, most ?? EVENTS_MAX),
    endsAt: end === undefined ? null : new Date(end),
    isOff: resource.status === 'off',
  };
  return { request };
}

/** How many codes the filters compare with each resource that changes. */
export const codesIn = (filters: readonly Filter[]): number =>
  filters.reduce((sum, { clauses }) => sum + clauses.flat().length, 0);

/**
 * Reads a filter such as `Observation?patient=<id>&category=laboratory`, or
 * says what is wrong with it.
 */
export function readFilter(
  text: string,
  topic: Topic,
  base: string,
): Filter | string {
  const [, named, query = ''] = /^(?:([A-Za-z]+)\?)?(.*)$/s.exec(text) ?? [];
  const type = named ?? topic.type;
  if (type === undefined)
    return 'must begin with a type, such as Observation?category=laboratory';
  if (
    topic.type === undefined
      ? !SERVED_TYPES.includes(type)
      : type !== topic.type
  )
    return `is about ${type}; the topic has ${topic.type ?? 'the types that metadata lists'} only`;
  const filter: Filter = { type, patients: null, triggers: [], clauses: [] };
  // The demographics of the caller, by which Patients are found, are not those
  // of a record.
  const parameters =
    topic.type === undefined && type !== 'Patient'
      ? searchParametersOf(type)
      : {};
  const add = (name: string, values: readonly string[]) => {
    if (name === 'patient' || (type === 'Patient' && name === '_id'))
      return addPatients(filter, name, values, base);
    return name === 'trigger'
      ? addTriggers(filter, values, topic)
      : addClause(filter, name, values, parameters);
  };
  for (const [name, value] of new URLSearchParams(query)) {
    const problem = add(name, [...new Set(valuesOf(value))]);
    if (problem !== undefined) return problem;
  }
  return filter;
}

/** Adds the patients of a filter. Returns what is wrong with them. */
function addPatients(
  filter: Filter,
  name: string,
  values: readonly string[],
  base: string,
): string | undefined {
  if (filter.patients !== null)
    return `${name} is given twice; give the ids in one, separated by commas`;
  filter.patients = values.map((id) =>
    id.replace(`${base}/`, '').replace('Patient/', '').toLowerCase(),
  );
  return filter.patients.every((id) => UUID.test(id))
    ? undefined
    : `${name} is not the id of a Patient`;
}

/** Adds triggers of the topic. Returns what is wrong with them. */
function addTriggers(
  filter: Filter,
  values: readonly string[],
  topic: Topic,
): string | undefined {
  const codes = topic.triggers.filter(({ system, code }) =>
    values.some((each) => each === code || each === `${system}|${code}`),
  );
  if (codes.length < values.length)
    return `trigger is not one of the topic; it has: ${topic.triggers.map(({ code }) => code).join(', ')}`;
  filter.triggers.push(codes.map(({ code }) => code));
  return undefined;
}

/** Adds the codes of one search parameter. Returns what is wrong with them. */
function addClause(
  filter: Filter,
  name: string,
  values: readonly string[],
  parameters: ReturnType<typeof searchParametersOf>,
): string | undefined {
  const parameter = Object.hasOwn(parameters, name)
    ? parameters[name]
    : undefined;
  if (parameter?.kind !== 'token') {
    const tokens = Object.entries(parameters).flatMap(([each, { kind }]) =>
      kind === 'token' ? [each] : [],
    );
    return `${name} is no filter for ${filter.type}; it has: ${['patient', 'trigger', ...tokens].join(', ')}`;
  }
  const clause = values.map((each) => alternativeOf(name, parameter, each));
  if (!clause.every((alternative) => alternative !== undefined))
    return `${name} is not a code such as system|code`;
  filter.clauses.push(clause);
  return filter.clauses.length > CLAUSES_MAX
    ? `has more than ${CLAUSES_MAX} parameters`
    : undefined;
}
