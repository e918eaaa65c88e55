import type {
  NetworkQueryInput,
  NetworkQueryProgress,
  SourceCallback,
  SourceProgress,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { overallStatus } from '../../../exchange/network-query/rules/query-status.ts';

/**
 * The state of one run of a query: where each of its sources stands, and which callbacks have come. Plain rules
 * without Temporal, so that they can be tried in every order.
 */
export class QueryProgress {
  readonly #requestId: string;
  readonly #run: number;
  readonly #sources = new Map<SourceType, SourceProgress>();
  readonly #callbacks = new Set<string>();

  constructor(
    input: NetworkQueryInput,
    readonly onChange: (progress: QueryProgress) => void = () => {},
  ) {
    this.#requestId = input.requestId;
    this.#run = input.run;
    for (const { source, attempt } of input.sources) this.begin(source, attempt);
  }

  /** A (further) attempt of a source begins. */
  begin(source: SourceType, attempt: number): void {
    this.#sources.set(source, { source, attempt, state: 'asking', resources: 0 });
    this.onChange(this);
  }

  change(source: SourceType, change: Partial<Omit<SourceProgress, 'source'>>): void {
    const known = this.#sources.get(source);
    if (known === undefined) return;
    this.#sources.set(source, { ...known, ...change });
    this.onChange(this);
  }

  /** A callback that comes before the step that asked has returned is kept until it is waited for. */
  noteCallback({ source, attempt }: SourceCallback): void {
    this.#callbacks.add(`${source}/${attempt}`);
  }

  hasCallback(source: SourceType, attempt: number): boolean {
    return this.#callbacks.has(`${source}/${attempt}`);
  }

  /** One callback is one reason to ask; a doubled one asks at most once more. */
  takeCallback(source: SourceType, attempt: number): void {
    this.#callbacks.delete(`${source}/${attempt}`);
  }

  of(source: SourceType): SourceProgress | undefined {
    return this.#sources.get(source);
  }

  get ended(): boolean {
    return [...this.#sources.values()].every(hasEnded);
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

  /** Markdown for the workflow's page in the Temporal UI, which shows tables without any space between the cells. */
  toMarkdown(): string {
    return [...this.#sources.values()]
      .map(({ source, attempt, state, resources, reason }) => {
        const facts = [state, `attempt ${attempt}`, ...(resources > 0 ? [`${resources} resources`] : [])];
        return `- **${source}**: ${[...facts, ...(reason === undefined ? [] : [reason])].join(' · ')}`;
      })
      .join('\n');
  }
}

export const hasEnded = ({ state }: SourceProgress): boolean => state === 'completed' || state === 'failed';
