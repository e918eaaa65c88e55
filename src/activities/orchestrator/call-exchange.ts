import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import { isMissingCredential } from '../../orchestrator/client/credentials.ts';
import type {
  ExchangeClient,
  RequestOf,
} from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { ResponseOf } from '../../orchestrator/client/responses.ts';
import { opaqueId } from '../../temporal/client.ts';

export interface EndpointActivityDeps {
  clientFor(access: ExchangeAccess): ExchangeClient;
  /**
   * ID_HMAC_KEY: idempotency keys are hashed with it, because a workflow id may
   * contain a caller's job id.
   */
  idHmacKey: string;
}

/** `{exchange, params?, query?, body?}` */
export type EndpointInput<N extends EndpointName> = {
  exchange: ExchangeAccess;
  /** For a query with the purpose of use `ias`. */
  aal2Session?: string;
  /**
   * Run id of the first run of the workflow execution. Set by `proxyEndpoints`.
   */
  execution?: string;
} & RequestOf<N>;

/** Temporal warns about payloads above 256 KB; ours stay far below. */
const RESULT_SIZE_MAX_BYTES = 50_000;

/**
 * Makes one call from inside an activity. The idempotency key is derived from
 * workflow id, execution and activity id, so all attempts of the activity, also
 * those after a reset of the workflow, count as the same call to the exchange.
 * Throws ApplicationFailure whose type is the `FailureKind`.
 */
export async function callExchange<N extends EndpointName, R>(
  { clientFor, idHmacKey }: EndpointActivityDeps,
  name: N,
  { exchange, aal2Session, execution, ...request }: EndpointInput<N>,
  pick: (answer: ResponseOf<N>, status: number) => R,
): Promise<R> {
  const { workflowExecution, activityId } = activityInfo();
  try {
    // `request` is the operation's request; TypeScript cannot infer that from
    // the generic type.
    const { status, answer } = await clientFor(exchange).call(
      name,
      request as never,
      {
        idempotencyKey: opaqueId(
          idHmacKey,
          'idempotency-key',
          [
            workflowExecution?.workflowId ?? '',
            activityId,
            ...(execution === undefined ? [] : [execution]),
          ].join(' '),
        ),
        aal2Session,
        // A POST is not aborted, because its outcome would be unknown. The
        // client's timeout limits it.
        signal:
          endpoints[name].method === 'POST' ? undefined : cancellationSignal(),
      },
    );
    const result = pick(answer, status);
    assertFits(name, result);
    return result;
  } catch (error) {
    throw asCallFailure(error);
  }
}

/**
 * Converts errors of a call for workflows. A missing credential is not retried:
 * it takes a restart with another configuration.
 */
export function asCallFailure(error: unknown): unknown {
  if (error instanceof ExchangeCallError) return asApplicationFailure(error);
  if (isMissingCredential(error))
    return ApplicationFailure.nonRetryable(error.message, 'unauthorized');
  return error;
}

/**
 * Converts the error for workflows: the failure's type is the `FailureKind`.
 */
export const asApplicationFailure = (
  error: ExchangeCallError,
): ApplicationFailure =>
  ApplicationFailure.create({
    type: error.kind,
    message: error.message,
    nonRetryable: !error.retryable,
    nextRetryDelay: error.retryAfterMs,
  });

function assertFits(name: EndpointName, result: unknown): void {
  const sizeBytes = Buffer.byteLength(JSON.stringify(result) ?? '');
  if (sizeBytes <= RESULT_SIZE_MAX_BYTES) return;
  throw ApplicationFailure.nonRetryable(
    `${name}: the result has ${sizeBytes} bytes; activity results may have at most ${RESULT_SIZE_MAX_BYTES}`,
    'bad-answer',
  );
}
