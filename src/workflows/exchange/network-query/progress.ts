import {
  CANCEL_REASONS,
  type CarriedQuery,
  type NetworkQueryInput,
  type NetworkQueryProgress,
  type SourceCallback,
  type SourceProgress,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { overallStatus } from '../../../exchange/queries/network-query/rules/query-status.ts';

/**
 * The state of one run of a query: the progress of each source, and the
 * callbacks received. Plain rules without Temporal, so that tests can apply
 * them in any order.
 */
export class QueryProgress {
  readonly #requestId: string;
  readonly #run: number;
  readonly #sources = new Map<SourceType, SourceProgress>();
  readonly #callbacks = new Set<string>();
  readonly onChange: (progress: QueryProgress) => void;

  constructor(
    input: NetworkQueryInput,
    onChange: (progress: QueryProgress) => void = () => {},
    carried?: CarriedQuery,
  ) {
    this.onChange = onChange;

    this.#requestId = input.requestId;
    this.#run = input.run;
    if (carried === undefined)
      for (const { source, attempt } of input.sources)
        this.begin(source, attempt);
    else for (const source of carried.sources) this.#goOn(source);
  }

  #goOn({ wait, isCalled, ...state }: CarriedQuery['sources'][number]): void {
    this.#sources.set(state.source, state);
    if (isCalled) this.noteCallback(state);
    this.onChange(this);
  }

  /** Begins the first or a further attempt at a source. */
  begin(source: SourceType, attempt: number): void {
    this.#sources.set(source, {
      source,
      attempt,
      state: 'asking',
      resources: 0,
    });
    this.onChange(this);
  }

  change(
    source: SourceType,
    change: Partial<Omit<SourceProgress, 'source'>>,
  ): void {
    const known = this.#sources.get(source);
    if (known === undefined) return;
    this.#sources.set(source, { ...known, ...change });
    this.onChange(this);
  }

  /**
   * Keeps a callback until the workflow waits for it: it may arrive before the
   * activity that asked has returned.
   */
  noteCallback({ source, attempt }: SourceCallback): void {
    this.#callbacks.add(`${source}/${attempt}`);
  }

  hasCallback(source: SourceType, attempt: number): boolean {
    return this.#callbacks.has(`${source}/${attempt}`);
  }

  /**
   * Uses up the callback. A duplicate that arrives later causes at most one
   * more poll.
   */
  takeCallback(source: SourceType, attempt: number): void {
    this.#callbacks.delete(`${source}/${attempt}`);
  }

  of(source: SourceType): SourceProgress | undefined {
    return this.#sources.get(source);
  }

  get ended(): boolean {
    return [...this.#sources.values()].every(hasEnded);
  }

  /** Whether nothing failed but what was ended on purpose. */
  get isCancelled(): boolean {
    const failed = [...this.#sources.values()].filter(
      ({ state }) => state === 'failed',
    );
    return (
      failed.length > 0 &&
      failed.every(({ reason = '' }) => CANCEL_REASONS.includes(reason))
    );
  }

  snapshot(): NetworkQueryProgress {
    const sources = [...this.#sources.values()];
    const status = overallStatus(
      sources.map(({ source, attempt, state }) => ({
        source,
        attempt,
        status: state === 'completed' || state === 'failed' ? state : 'running',
        willRetry: false,
      })),
    );
    return { requestId: this.#requestId, run: this.#run, status, sources };
  }

  /**
   * Markdown for the workflow's page in the Temporal UI: how the query stands,
   * each source, and what to type next.
   */
  toMarkdown(): string {
    const sources = [...this.#sources.values()];
    return [
      `**${this.#standing(sources)}**`,
      '',
      ...sources.map(sourceLine),
      '',
      ...this.#next(sources),
    ]
      .join('\n')
      .trimEnd();
  }

  #standing(sources: readonly SourceProgress[]): string {
    const { status } = this.snapshot();
    const count = (state: SourceProgress['state']) =>
      sources.filter((source) => source.state === state).length;
    const completed = `${count('completed')} of ${sources.length} sources completed`;
    const what = this.#run === 0 ? 'Query' : 'Retry';
    return status === 'running'
      ? `${what} running: ${completed}`
      : `${what} ended as ${this.isCancelled ? 'cancelled' : status}: ${completed}`;
  }

  #next(sources: readonly SourceProgress[]): string[] {
    const command = (text: string) => `\`npm run starter -- ${text}\``;
    const failed = sources.filter(({ state }) => state === 'failed');
    return [
      ...failed.map(
        ({ source }) =>
          `Query ${source} again: ${command(`retry ${this.#requestId} ${source}`)}`,
      ),
      ...(this.ended
        ? []
        : [
            `Stop waiting: ${command(`cancel ${this.#requestId}`)}, or add \`--source <source>\``,
          ]),
    ].map((line) => `- ${line}`);
  }
}

/** A list item, because the UI shows tables without cell spacing. */
function sourceLine({
  source,
  attempt,
  state,
  resources,
  reason,
  nextTryAt,
}: SourceProgress): string {
  const facts = [
    STATES[state],
    `attempt ${attempt}`,
    ...(resources > 0 ? [`${resources} resources`] : []),
    ...(reason === undefined ? [] : [reason]),
    ...(nextTryAt === undefined ? [] : [`next try at ${nextTryAt}`]),
  ];
  return `- **${source}**: ${facts.join(' · ')}`;
}

const STATES: Readonly<Record<SourceProgress['state'], string>> = {
  asking: 'being asked',
  waiting: 'waiting for its callback, or the next poll',
  collecting: 'being collected',
  'backing-off': 'waiting for its next attempt',
  completed: 'completed',
  failed: 'failed',
};

export const hasEnded = ({ state }: SourceProgress): boolean =>
  state === 'completed' || state === 'failed';
