import { SourceFailure } from './connector.ts';
import { isRecord, type SourceErrorResponse } from './http/failures.ts';
import type { SourceHttp } from './http/source-http.ts';
import type { ResolvedSourceConfig } from './source-config.ts';

export type FhirOperation = 'match' | 'everything';
/**
 * `stated` in the CapabilityStatement, known to be `missing`, or `unstated`:
 * only trying will show.
 */
export type Support = 'stated' | 'unstated' | 'missing';

interface ServerCapabilities {
  operations: Record<FhirOperation, Support>;
  /** Whether the server answers document searches of IHE MHD (ITI-67). */
  documentSearch: boolean;
  /**
   * Search parameters by type; undefined when the statement does not list the
   * types it can search.
   */
  searchParameters?: Map<string, Set<string>>;
  /** Types for which the statement lists the `read` interaction. */
  readTypes?: ReadonlySet<string>;
}

const NOTHING_STATED: ServerCapabilities = {
  operations: { match: 'unstated', everything: 'unstated' },
  documentSearch: false,
};
const KEPT_MS = 10 * 60_000;

/**
 * What one server can do, according to its CapabilityStatement, corrected by
 * its responses and by the connection's settings. Cached for 10 minutes.
 */
export class Capabilities {
  private current: ServerCapabilities | undefined;
  private staleAtMs = 0;
  private loading: Promise<ServerCapabilities> | undefined;
  private readonly http: SourceHttp;
  private readonly now: () => number;

  constructor(http: SourceHttp, now: () => number) {
    this.http = http;
    this.now = now;
  }

  async read(): Promise<ServerCapabilities> {
    if (this.current !== undefined && this.now() < this.staleAtMs)
      return this.configured(this.current);
    // Shared by all waiting calls, so the cancellation of one of them must not
    // end it.
    this.loading ??= this.reload().finally(() => {
      this.loading = undefined;
    });
    return this.configured(await this.loading);
  }

  /**
   * With what the settings of the connection say, which know better than the
   * statement.
   */
  private configured(known: ServerCapabilities): ServerCapabilities {
    const { patientMatch, documentSearch = known.documentSearch } =
      this.http.config;
    if (patientMatch === undefined) return { ...known, documentSearch };
    const match = patientMatch ? 'stated' : 'missing';
    return {
      ...known,
      documentSearch,
      operations: { ...known.operations, match },
    };
  }

  private async reload(): Promise<ServerCapabilities> {
    const before = this.current;
    if (before === undefined) return (await this.load()) ?? NOTHING_STATED;
    // While the server cannot be read, the previous capabilities are a better
    // guess than none.
    const loaded = await this.load().catch((error: unknown) => {
      if (error instanceof SourceFailure && error.kind === 'refused')
        throw error;
    });
    return loaded ?? this.keep(before);
  }

  /**
   * Remembers that the server lacks an operation, until the statement is read
   * again.
   */
  noteMissing(operation: FhirOperation): void {
    const known = this.current ?? NOTHING_STATED;
    if (known.operations[operation] === 'stated') return;
    this.current = {
      ...known,
      operations: { ...known.operations, [operation]: 'missing' },
    };
  }

  /**
   * Undefined when the server fails (5xx): it may serve its statement a moment
   * later.
   */
  private async load(): Promise<ServerCapabilities | undefined> {
    const label = 'metadata';
    const url = new URL(label, this.http.config.baseUrl);
    const response = await this.http.send({
      method: 'GET',
      url,
      label,
      signal: new AbortController().signal,
    });
    if (response.status === 429)
      throw await this.http.failureOf(response, label);
    if (response.status !== 200) {
      await response.discard();
      return response.status < 500 || response.status === 501
        ? this.keep(NOTHING_STATED)
        : undefined;
    }
    try {
      const { json } = await this.http.readJson(response, label);
      requireR4(this.http.config.source, json.fhirVersion);
      return this.keep(readCapabilities(json));
    } catch (error) {
      if (error instanceof SourceFailure && error.kind === 'bad-answer')
        return this.keep(NOTHING_STATED);
      throw error;
    }
  }

  private keep(capabilities: ServerCapabilities): ServerCapabilities {
    this.current = capabilities;
    this.staleAtMs = this.now() + KEPT_MS;
    return capabilities;
  }
}

/**
 * R4, or R4B, whose clinical types are those of R4. A server that does not say
 * is judged by its resources.
 *
 * @throws SourceFailure `refused`
 */
export function requireR4(source: string, fhirVersion: unknown): void {
  if (typeof fhirVersion !== 'string' || /^4\.[013](?:\.|$)/.test(fhirVersion))
    return;
  const version = /^[\w.-]{1,20}$/.test(fhirVersion)
    ? fhirVersion
    : 'another version';
  throw new SourceFailure(
    'refused',
    `${source} speaks FHIR ${version}, and only R4 (4.0) is read: configure the address at which it serves R4`,
  );
}

/**
 * Whether an error response to an operation means that the server does not
 * support it: 404, 405, 501; 400 with the issue code `not-supported`; or any
 * 400 if the statement does not list the operation (HAPI FHIR responds so).
 */
export function isMissingOperation(
  { status, issueCode }: SourceErrorResponse,
  support: Support,
): boolean {
  if (status === 404 || status === 405 || status === 501) return true;
  return (
    status === 400 && (issueCode === 'not-supported' || support === 'unstated')
  );
}

export function readCapabilities(
  statement: Record<string, unknown>,
): ServerCapabilities {
  if (statement.resourceType !== 'CapabilityStatement') return NOTHING_STATED;
  const server =
    listOf(statement.rest).find(({ mode }) => mode === 'server') ?? {};
  const resources = listOf(server.resource);
  if (resources.length === 0) return NOTHING_STATED;
  const saysOperations = [server, ...resources].some(
    ({ operation }) => operation !== undefined,
  );
  const profiles = iheProfilesOf(statement, resources);
  const names = new Set(
    [server, ...resources.filter(({ type }) => type === 'Patient')]
      .flatMap(({ operation }) => listOf(operation))
      .flatMap(operationNames),
  );
  if (profiles.isPatientSupplier) names.add('match');
  // Many servers list no operations at all, although they support some.
  const supportOf = (operation: FhirOperation): Support => {
    if (names.has(operation)) return 'stated';
    return saysOperations ? 'missing' : 'unstated';
  };
  return {
    operations: {
      match: supportOf('match'),
      everything: supportOf('everything'),
    },
    documentSearch: profiles.isDocumentResponder,
    searchParameters: searchParametersOf(resources, listOf(server.searchParam)),
    readTypes: new Set(
      resources
        .filter(({ interaction }) =>
          listOf(interaction).some(({ code }) => code === 'read'),
        )
        .map(({ type }) => String(type)),
    ),
  };
}

/** @param common parameters that the statement names for all types */
function searchParametersOf(
  resources: Array<Record<string, unknown>>,
  common: Array<Record<string, unknown>>,
): Map<string, Set<string>> | undefined {
  const searchable = resources.filter(({ interaction }) => {
    return (
      interaction === undefined ||
      listOf(interaction).some(({ code }) => code === 'search-type')
    );
  });
  if (searchable.length === 0) return undefined;
  return new Map(
    searchable.map(({ type, searchParam }) => [
      String(type),
      new Set(
        [...common, ...listOf(searchParam)].map(({ name }) => String(name)),
      ),
    ]),
  );
}

function listOf(value: unknown): Array<Record<string, unknown>> {
  return Array.isArray(value) ? (value as unknown[]).filter(isRecord) : [];
}

type Json = Record<string, unknown>;

/**
 * The actors of IHE profiles that a server states to be. National guides derive
 * from the profiles and keep their names: `CH.MHD.DocumentResponder`.
 */
const PDQM_SUPPLIER = /(^|[^a-z])pdqm([^a-z].*)?supplier/i;
const MHD = /(^|[^a-z])mhd([^a-z]|$)/i;
/** MHD's other actors send, receive or ask for documents. */
const OTHER_ACTOR = /recipient|source|consumer/i;

/**
 * Reads from a CapabilityStatement which IHE actors a server is: what it
 * `instantiates`, the guides it follows, and the profiles of its
 * DocumentReferences.
 *
 * @param resources the resources of its server mode
 */
export function iheProfilesOf(statement: Json, resources: readonly Json[]) {
  const actors = textsOf(statement.instantiates);
  const documents = resources.find(({ type }) => type === 'DocumentReference');
  const stated = [
    ...actors,
    ...textsOf(statement.implementationGuide),
    ...textsOf(documents?.profile),
    ...textsOf(documents?.supportedProfile),
  ];
  const isSearched =
    documents !== undefined &&
    (!Array.isArray(documents.interaction) ||
      documents.interaction.some(
        (each) => isRecord(each) && each.code === 'search-type',
      ));
  return {
    /** PDQm: answers `Patient/$match` (ITI-119). */
    isPatientSupplier: actors.some((actor) => PDQM_SUPPLIER.test(actor)),
    /** MHD: lists a patient's documents (ITI-67) and serves them (ITI-68). */
    isDocumentResponder:
      isSearched &&
      stated.some((name) => MHD.test(name) && !OTHER_ACTOR.test(name)),
  };
}

/**
 * What an entry of `operation` may be called: servers write `match`, `$match`
 * or `Patient-match`, and PDQm's own statement names it `PDQm $Match`, defined
 * by `…/OperationDefinition/PDQmMatch`.
 */
export function operationNames({ name, definition }: Json): string[] {
  return [name, definition]
    .filter((text) => typeof text === 'string')
    .map(plainName);
}

const plainName = (text: string): string =>
  (text.split(/[\s/]/).at(-1) ?? '')
    .toLowerCase()
    .replace('$', '')
    .replace(/^(patient-|pdqm)/, '');

const textsOf = (value: unknown): string[] =>
  [value].flat().filter((text) => typeof text === 'string');

/** The parts that all functions of one connector share. */
export interface SourceContext {
  config: ResolvedSourceConfig;
  http: SourceHttp;
  capabilities: Capabilities;
  now: () => number;
}
