import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import type { AnswerOf } from '../../orchestrator/client/answers.ts';
import type { ExchangeClient, RequestOf } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { opaqueId } from '../../temporal/opaque-id.ts';

export interface EndpointActivityDeps {
  clientFor(access: ExchangeAccess): ExchangeClient;
  /** ID_HMAC_KEY: idempotency keys are derived with it, for a workflow id may come from a caller's job id. */
  idHmacKey: string;
}

/** `{exchange, params?, query?, body?}` */
export type EndpointInput<N extends EndpointName> = {
  exchange: ExchangeAccess;
  /** Of a query with purpose ias. */
  aal2Session?: string;
} & RequestOf<N>;

/** A larger result has no place in a history (warnings start at 256 KB; ours stay far below). */
const RESULT_SIZE_MAX_BYTES = 50_000;

/**
 * One call inside an activity. The idempotency key comes from workflow id and activity id, so every attempt of the
 * activity, and of a workflow run that was reset, is one and the same call to the exchange.
 * Throws ApplicationFailure whose type is the `FailureKind`.
 */
export async function callExchange<N extends EndpointName, R>(
  { clientFor, idHmacKey }: EndpointActivityDeps,
  name: N,
  { exchange, aal2Session, ...request }: EndpointInput<N>,
  pick: (answer: AnswerOf<N>, status: number) => R,
): Promise<R> {
  const { workflowExecution, activityId } = activityInfo();
  try {
    // The rest of the input is the request of this operation; TypeScript does not see that through the generic.
    const { status, answer } = await clientFor(exchange).call(name, request as never, {
      idempotencyKey: opaqueId(
        idHmacKey,
        'idempotency-key',
        `${workflowExecution?.workflowId ?? ''} ${activityId}`,
      ),
      aal2Session,
      // A POST is let finish: aborted, nobody would know whether it was carried out. The time limit bounds it.
      signal: endpoints[name].method === 'POST' ? undefined : cancellationSignal(),
    });
    const result = pick(answer, status);
    assertFits(name, result);
    return result;
  } catch (error) {
    if (error instanceof ExchangeCallError) throw asApplicationFailure(error);
    throw error;
  }
}

/** As workflows see it: its type is the `FailureKind`. */
export function asApplicationFailure(error: ExchangeCallError): ApplicationFailure {
  return ApplicationFailure.create({
    type: error.kind,
    message: error.message,
    nonRetryable: !error.retryable,
    nextRetryDelay: error.retryAfterMs,
  });
}

function assertFits(name: EndpointName, result: unknown): void {
  const sizeBytes = Buffer.byteLength(JSON.stringify(result) ?? '');
  if (sizeBytes <= RESULT_SIZE_MAX_BYTES) return;
  throw ApplicationFailure.nonRetryable(
    `${name}: the result has ${sizeBytes} bytes, at most ${RESULT_SIZE_MAX_BYTES} fit into a workflow's history`,
    'bad-answer',
  );
}
