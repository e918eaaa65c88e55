import type { SOURCE_FAILURE_TYPES } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/source-types.ts';

/**
 * The query was deleted together with its patient; the step has nothing left to
 * do.
 */
export class QueryGone extends Error {
  override readonly name = 'QueryGone';

  constructor() {
    super('The patient was deleted');
  }
}

/**
 * A page came too late: the attempt has ended (given up, or completed by
 * another execution of this step), or another execution has stored a page
 * meanwhile. Read the attempt's state from PostgreSQL again.
 */
export class AttemptSuperseded extends Error {
  override readonly name = 'AttemptSuperseded';
}

/**
 * The answer is stored, but could not be merged into the patient's record: a
 * fault of ours, never the source's.
 */
export class MergeFailed extends Error {
  override readonly name = 'MergeFailed';

  constructor(cause: unknown) {
    super(
      'The answer is stored, but the exchange could not merge it into the record',
      { cause },
    );
  }
}

/**
 * The time of a step is over, and its source has more. What came is stored, and
 * the step is repeated at once.
 */
export class StepGoesOn extends Error {
  override readonly name = 'StepGoesOn';

  constructor(source: SourceType) {
    super(`The ${source} source sends its answer slowly; what came is stored`);
  }
}

/** The failure of a step as its workflow knows it, recorded already. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
  readonly type: (typeof SOURCE_FAILURE_TYPES)[keyof typeof SOURCE_FAILURE_TYPES];
  readonly retryAfterMs?: number;

  /** @param retryAfterMs when the step is repeated; undefined: it is not */
  constructor(
    type: (typeof SOURCE_FAILURE_TYPES)[keyof typeof SOURCE_FAILURE_TYPES],
    message: string,
    retryAfterMs?: number,
  ) {
    super(message);
    this.type = type;
    this.retryAfterMs = retryAfterMs;
  }
}
