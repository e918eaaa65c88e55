import { SourceFailure } from './connector.ts';
import { type ErrorAnswer, isRecord } from './http/failures.ts';
import type { SourceHttp } from './http/source-http.ts';

export type Operation = 'match' | 'everything';
/** `stated` by the server, found `missing`, or `unstated`: try it and see. */
export type Support = 'stated' | 'unstated' | 'missing';

interface Facts {
  operations: Record<Operation, Support>;
  /** Search parameters by type; undefined when the server does not say which types it can search. */
  searchParameters?: Map<string, Set<string>>;
  /** Types that the server says it serves by id. */
  readTypes?: ReadonlySet<string>;
}

const NOTHING_STATED: Facts = { operations: { match: 'unstated', everything: 'unstated' } };
const KEPT_MS = 10 * 60_000;

/** What one server can do: read from its CapabilityStatement, corrected by what it then really answers. */
export class Capabilities {
  private facts: Facts | undefined;
  private staleAtMs = 0;
  private loading: Promise<Facts> | undefined;

  constructor(
    private readonly http: SourceHttp,
    private readonly now: () => number,
  ) {}

  async read(): Promise<Facts> {
    if (this.facts !== undefined && this.now() < this.staleAtMs) return this.facts;
    // Shared by all calls that wait for it, so no single caller's cancellation may end it.
    this.loading ??= this.reload().finally(() => {
      this.loading = undefined;
    });
    return this.loading;
  }

  private async reload(): Promise<Facts> {
    const before = this.facts;
    if (before === undefined) return (await this.load()) ?? NOTHING_STATED;
    // What was known ten minutes ago is a better guess than nothing while the server cannot say.
    const facts = await this.load().catch(() => undefined);
    return facts ?? this.keep(before);
  }

  /** Remembers that the server lacks an operation, until the statement is read anew. */
  noteMissing(operation: Operation): void {
    const facts = this.facts ?? NOTHING_STATED;
    if (facts.operations[operation] === 'stated') return;
    this.facts = { ...facts, operations: { ...facts.operations, [operation]: 'missing' } };
  }

  /** Undefined when the server is in trouble: it may have a statement a moment later. */
  private async load(): Promise<Facts | undefined> {
    const label = 'metadata';
    const url = new URL(label, this.http.config.baseUrl);
    const answer = await this.http.send({ method: 'GET', url, label, signal: new AbortController().signal });
    if (answer.status === 429) throw await this.http.failureOf(answer, label);
    if (answer.status !== 200) {
      await answer.discard();
      return answer.status < 500 || answer.status === 501 ? this.keep(NOTHING_STATED) : undefined;
    }
    try {
      return this.keep(factsOf((await this.http.readJson(answer, label)).json));
    } catch (error) {
      if (error instanceof SourceFailure && error.kind === 'bad-answer') return this.keep(NOTHING_STATED);
      throw error;
    }
  }

  private keep(facts: Facts): Facts {
    this.facts = facts;
    this.staleAtMs = this.now() + KEPT_MS;
    return facts;
  }
}

/**
 * Whether an error answer to an operation says that the server has no such operation. 400 says so with the issue
 * code `not-supported`, or, as HAPI does, with another one from a server that never claimed to have it.
 */
export function isMissingOperation({ status, issueCode }: ErrorAnswer, support: Support): boolean {
  if (status === 404 || status === 405 || status === 501) return true;
  return status === 400 && (issueCode === 'not-supported' || support === 'unstated');
}

export function factsOf(statement: Record<string, unknown>): Facts {
  if (statement.resourceType !== 'CapabilityStatement') return NOTHING_STATED;
  const server = listOf(statement.rest).find(({ mode }) => mode === 'server') ?? {};
  const resources = listOf(server.resource);
  if (resources.length === 0) return NOTHING_STATED;
  const saysOperations = [server, ...resources].some(({ operation }) => operation !== undefined);
  const names = new Set(
    [server, ...resources.filter(({ type }) => type === 'Patient')]
      .flatMap(({ operation }) => listOf(operation))
      .map(({ name }) => String(name).replace('$', '').replace('patient-', '')),
  );
  // Many servers list no operations at all, whatever they have.
  const supportOf = (operation: Operation): Support => {
    if (names.has(operation)) return 'stated';
    return saysOperations ? 'missing' : 'unstated';
  };
  return {
    operations: { match: supportOf('match'), everything: supportOf('everything') },
    searchParameters: searchParametersOf(resources),
    readTypes: new Set(
      resources
        .filter(({ interaction }) => listOf(interaction).some(({ code }) => code === 'read'))
        .map(({ type }) => String(type)),
    ),
  };
}

function searchParametersOf(resources: Array<Record<string, unknown>>): Map<string, Set<string>> | undefined {
  const searchable = resources.filter(({ interaction }) => {
    return interaction === undefined || listOf(interaction).some(({ code }) => code === 'search-type');
  });
  if (searchable.length === 0) return undefined;
  return new Map(
    searchable.map(({ type, searchParam }) => [
      String(type),
      new Set(listOf(searchParam).map(({ name }) => String(name))),
    ]),
  );
}

function listOf(value: unknown): Array<Record<string, unknown>> {
  return Array.isArray(value) ? (value as unknown[]).filter(isRecord) : [];
}
