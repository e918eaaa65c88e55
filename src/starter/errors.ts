import { ConfigError } from '../config.ts';
import { ExchangeCallError, type FailureKind } from '../orchestrator/client/failures.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** The options do not make sense; the message says what would. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What was asked for is not there, or is not possible now. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export interface DescribedError {
  exitCode: ExitCode;
  message: string;
}

/** What a person is told of an error, and how the process ends. */
export function describeError(error: unknown): DescribedError {
  if (error instanceof UsageError || error instanceof ConfigError)
    return { exitCode: EXIT.usage, message: error.message };
  if (error instanceof RefusedError) return { exitCode: EXIT.refused, message: error.message };
  if (error instanceof ExchangeCallError) {
    const { exitCode, hint } = EXCHANGE_FAILURES[error.kind];
    const wait =
      error.retryAfterMs === undefined ? '' : ` Try again in ${Math.ceil(error.retryAfterMs / 1000)} s.`;
    return { exitCode, message: `${hint} (${error.message}).${wait}` };
  }
  return { exitCode: EXIT.error, message: error instanceof Error ? error.message : 'Something went wrong' };
}

const EXCHANGE_FAILURES: Readonly<Record<FailureKind, { exitCode: ExitCode; hint: string }>> = {
  rejected: { exitCode: EXIT.refused, hint: 'The exchange does not accept the request' },
  'not-found': { exitCode: EXIT.refused, hint: 'The exchange does not know it' },
  conflict: { exitCode: EXIT.refused, hint: 'That is not possible now' },
  unauthorized: { exitCode: EXIT.refused, hint: 'The exchange does not accept the API key for this' },
  'rate-limited': { exitCode: EXIT.error, hint: 'The exchange allows no more requests at the moment' },
  unavailable: { exitCode: EXIT.error, hint: 'The exchange cannot be reached' },
  ambiguous: {
    exitCode: EXIT.error,
    hint: 'The exchange gave no answer; look at the state before you repeat it',
  },
  'bad-answer': { exitCode: EXIT.error, hint: 'The answer is not that of an exchange' },
};
