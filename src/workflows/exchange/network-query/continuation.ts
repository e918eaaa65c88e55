import { condition, workflowInfo } from '@temporalio/workflow';
import type {
  CarriedQuery,
  NetworkQueryInput,
  SourceWait,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { hasNewerBuild } from '../../shared/own-run.ts';
import type { QueryProgress } from './progress.ts';

/**
 * Lets a query continue as new when its history has become long, for example by
 * a source that calls back thousands of times, or when another build has become
 * current. That must not interrupt a step, so each branch parks where it would
 * wait next, and the workflow continues when all have.
 */
export class Continuation {
  readonly #parked = new Map<SourceType, SourceWait>();
  readonly #carried: Map<SourceType, SourceWait>;
  readonly input: NetworkQueryInput;

  constructor(input: NetworkQueryInput, carried: CarriedQuery | undefined) {
    this.input = input;

    this.#carried = new Map(
      carried?.sources.flatMap(({ source, wait }) =>
        wait === undefined ? [] : [[source, wait]],
      ),
    );
  }

  get isDue(): boolean {
    const { historyEventsMax } = this.input;
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    return (
      continueAsNewSuggested ||
      historyLength >= historyEventsMax ||
      hasNewerBuild()
    );
  }

  /** The wait that the branch of a source goes on with, once. */
  takeWait(source: SourceType): SourceWait | undefined {
    const wait = this.#carried.get(source);
    this.#carried.delete(source);
    return wait;
  }

  /** Parks a branch for good; only a cancellation ends it. */
  async park(source: SourceType, wait: SourceWait): Promise<never> {
    this.#parked.set(source, wait);
    try {
      await condition(() => false);
    } finally {
      this.#parked.delete(source);
    }
    throw new Error('a parked branch went on');
  }

  isParked(source: SourceType): boolean {
    return this.#parked.has(source);
  }

  /**
   * The arguments of the next run; all branches that have not ended are parked.
   */
  next(progress: QueryProgress): [NetworkQueryInput, CarriedQuery] {
    const { sources } = progress.snapshot();
    return [
      {
        ...this.input,
        sources: sources.map(({ source, attempt }) => ({ source, attempt })),
      },
      {
        sources: sources.map((state) => ({
          ...state,
          wait: this.#parked.get(state.source),
          isCalled: progress.hasCallback(state.source, state.attempt),
        })),
      },
    ];
  }
}
