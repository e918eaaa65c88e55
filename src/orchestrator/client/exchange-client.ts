import { type Dispatcher, request as send } from 'undici';
import type { Endpoint, EndpointRequest } from '../../contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import { AAL2_SESSION_HEADER } from '../../contract/identity.ts';
import { BACKGROUND_PRIORITY } from '../../contract/query-limits.ts';
import { anySignal } from '../../lib/abort-signals.ts';
import { traced, traceHeaders } from '../../lib/tracing/spans.ts';
import type { CredentialHeader } from './api-key-credential.ts';
import {
  type CallNature,
  errorCodeOf,
  failedResponse,
  failedTransport,
  htmlResponse,
  mismatchedResponse,
  receivedResponse,
} from './failures.ts';
import { BodyTooLargeError, readJson } from './read-json.ts';
import { type ResponseOf, responseSchema } from './responses.ts';
import { type ServerPace, serverPace } from './server-pace.ts';

export type RequestOf<N extends EndpointName> = EndpointRequest<
  (typeof endpoints)[N]
>;

export interface CallOptions {
  /**
   * Sent with a POST if the exchange supports it: repeated calls with the same
   * key take effect once.
   */
  idempotencyKey?: string;
  /**
   * Sends a low priority (RFC 9218): no user waits for this call, so an
   * exchange may serve other calls first.
   */
  background?: boolean;
  /**
   * The two-factor session of the person who requests their own records
   * (purpose of use `ias`).
   */
  aal2Session?: string;
  /** Aborts the call; the signal's reason is thrown. */
  signal?: AbortSignal;
}

export type ExchangeClient = ReturnType<typeof createExchangeClient>;

export interface ExchangeClientOptions {
  baseUrl: string;
  credential: () => Promise<CredentialHeader>;
  /** Whether the exchange supports Idempotency-Key. */
  idempotency: boolean;
  /** Limit for one call, from connecting to the last byte. */
  timeoutMs: number;
  dispatcher?: Dispatcher;
}

/**
 * POSTs that are idempotent without a key: E6 skips cohorts the patient is
 * already in, a bulk create without a file expires, and a second consolidated
 * query reads the same record.
 */
const NATURALLY_REPEATABLE: ReadonlySet<EndpointName> = new Set([
  'startBulkCreate',
  'startConsolidatedQuery',
  'addPatientToCohorts',
  'addPatientsToCohort',
  'updateSettings',
]);
/**
 * POSTs whose 409 describes the resource's state and does not mean that the
 * first call with this key is still running.
 */
const CONFLICT_IS_AN_ANSWER: ReadonlySet<EndpointName> = new Set([
  'retrySource',
  'giveUpSource',
  'cancelNetworkQuery',
  'pauseQuerySweep',
  'resumeQuerySweep',
  'cancelQuerySweep',
  'redriveQueries',
  'cancelQueryRedrive',
  'pauseBulkCreate',
  'resumeBulkCreate',
  'cancelBulkCreate',
]);
/**
 * Error codes of undici and the system for failures before any byte of the
 * request was sent.
 */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_.*|ERR_TLS_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;

/**
 * Creates a client of the interface over HTTP. Validates each response. Does
 * not retry: that is up to Temporal.
 */
export function createExchangeClient(options: ExchangeClientOptions) {
  return {
    /** Throws ExchangeCallError. */
    async call<N extends EndpointName>(
      name: N,
      request: RequestOf<N>,
      callOptions: CallOptions = {},
    ): Promise<{ status: number; answer: ResponseOf<N>; pace: ServerPace }> {
      const endpoint: Endpoint = endpoints[name];
      const { body } = request as { body?: unknown };
      const isPost = endpoint.method === 'POST';
      const key =
        options.idempotency && endpoint.method !== 'GET'
          ? callOptions.idempotencyKey
          : undefined;
      const nature: CallNature = {
        changes: isPost,
        repeatable:
          !isPost || key !== undefined || NATURALLY_REPEATABLE.has(name),
        conflictMeansRunning:
          isPost && key !== undefined && !CONFLICT_IS_AN_ANSWER.has(name),
      };
      const credential = await options.credential();
      const attributes = {
        'http.request.method': endpoint.method,
        'exchange.operation': name,
      };
      const answer = await traced(
        { name: `call ${name}`, kind: 'client', attributes },
        (span) =>
          exchange(
            name,
            buildUrl(options.baseUrl, endpoint.path, request),
            {
              method: endpoint.method,
              headers: {
                ...traceHeaders(),
                accept: 'application/json',
                [credential.name]: credential.value,
                ...(key === undefined ? {} : { 'idempotency-key': key }),
                ...(callOptions.aal2Session === undefined
                  ? {}
                  : { [AAL2_SESSION_HEADER]: callOptions.aal2Session }),
                ...(callOptions.background
                  ? { priority: BACKGROUND_PRIORITY }
                  : {}),
                ...(body === undefined
                  ? {}
                  : { 'content-type': 'application/json' }),
              },
              body: body === undefined ? undefined : JSON.stringify(body),
              dispatcher: options.dispatcher,
              headersTimeout: options.timeoutMs,
              bodyTimeout: options.timeoutMs,
            },
            {
              timeoutMs: options.timeoutMs,
              signal: callOptions.signal,
              nature,
            },
          ).then((answer) => {
            span?.set({ 'http.response.status_code': answer.status });
            return answer;
          }),
      );
      if (!isSuccess(answer.status)) throw failedResponse(name, answer, nature);
      return {
        status: answer.status,
        answer: checked(name, answer),
        pace: answer.pace,
      };
    },
  };
}

type SendOptions = NonNullable<Parameters<typeof send>[1]>;
type RawResponse = ReturnType<typeof receivedResponse> & { pace: ServerPace };

async function exchange(
  name: EndpointName,
  url: URL,
  sendOptions: SendOptions,
  {
    timeoutMs,
    signal,
    nature,
  }: { timeoutMs: number; signal?: AbortSignal; nature: CallNature },
): Promise<RawResponse> {
  const timeout = AbortSignal.timeout(timeoutMs);
  // Aborted at the end of the call, so that it leaves no listener on the
  // caller's signal, which may live through many calls.
  const ended = new AbortController();
  try {
    const answer = await send(url, {
      ...sendOptions,
      signal:
        signal === undefined
          ? timeout
          : anySignal([timeout, signal, ended.signal]),
    });
    const pace = serverPace(answer.headers, Date.now());
    const body = await readJson(answer.body, isSuccess(answer.statusCode));
    return { ...receivedResponse(answer, body), pace };
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof BodyTooLargeError)
      throw mismatchedResponse(name, error.message, 200);
    const code = timeout.aborted ? 'timeout' : errorCodeOf(error);
    throw failedTransport(name, code, !BEFORE_SENDING.test(code), nature);
  } finally {
    ended.abort();
  }
}

function checked<N extends EndpointName>(
  name: N,
  answer: RawResponse,
): ResponseOf<N> {
  const schema = responseSchema(name, answer.status);
  if (schema === null) return undefined as ResponseOf<N>;
  if (answer.isHtml) throw htmlResponse(name, answer.status);
  const parsed = schema.safeParse(answer.body);
  if (parsed.success) return parsed.data as ResponseOf<N>;
  const paths = parsed.error.issues
    .slice(0, 10)
    .map((issue) => issue.path.join('.') || 'the body');
  throw mismatchedResponse(
    name,
    `the response does not match the interface: ${paths.join(', ')}`,
    answer.status,
  );
}

const isSuccess = (status: number): boolean => status >= 200 && status <= 299;

/**
 * Builds the URL of a call. `baseUrl` may contain a path; each `:name` in
 * `path` is replaced from `params`; query members without a value are omitted.
 * Throws TypeError for an empty path parameter.
 */
function buildUrl(
  baseUrl: string,
  path: string,
  { params = {}, query = {} }: { params?: object; query?: object },
): URL {
  const values = new Map<string, unknown>(Object.entries(params));
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) =>
    pathSegment(String(values.get(name) ?? '')),
  );
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}${filled}`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null)
      url.searchParams.set(name, String(value));
  return url;
}

/**
 * URL parsers remove `.` and `..`, even encoded ones, and an empty segment
 * would address another operation.
 */
function pathSegment(value: string): string {
  if (value === '' || value === '.' || value === '..')
    throw new TypeError('A path parameter is empty, "." or ".."');
  return encodeURIComponent(value);
}
