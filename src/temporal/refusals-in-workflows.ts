import {
  type ApplicationFailure,
  proxySinks,
  type Sinks,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from '@temporalio/workflow';

/** What a run reports to its worker. */
export interface RefusalSinks extends Sinks {
  refusals: { refused(what: string): void };
}

/**
 * The failure to reject arguments with of which one was not encrypted:
 * payload-converter.cjs has put it in its place.
 */
export const refusalOf = (
  args: readonly unknown[],
): ApplicationFailure | undefined => args.find(isRefused)?.failure;
const isRefused = (arg: unknown): arg is { failure: ApplicationFailure } =>
  typeof arg === 'object' && arg !== null && 'isRefusedPayload' in arg;

/**
 * Keeps input that was not encrypted from workflow code: a run that is started
 * with it fails, a signal is ignored, an update is rejected. Nothing is
 * awaited, so where nothing is refused, every step takes place as it did
 * before.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  function refused(
    args: readonly unknown[],
    what: string,
  ): ApplicationFailure | undefined {
    const failure = refusalOf(args);
    if (failure !== undefined)
      proxySinks<RefusalSinks>().refusals.refused(
        `${what} of ${workflowInfo().workflowType}`,
      );
    return failure;
  }
  const unless = <R>(
    failure: ApplicationFailure | undefined,
    next: () => Promise<R>,
  ): Promise<R> => (failure === undefined ? next() : Promise.reject(failure));
  return {
    inbound: [
      {
        execute: (input, next) =>
          unless(refused(input.args, 'input'), () => next(input)),
        handleUpdate: (input, next) =>
          unless(refused(input.args, `update ${input.name}`), () =>
            next(input),
          ),
        handleSignal: (input, next) =>
          refused(input.args, `signal ${input.signalName}`) === undefined
            ? next(input)
            : Promise.resolve(),
      },
    ],
  };
};
