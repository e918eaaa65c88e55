import { Webhook } from 'standardwebhooks';
import type { SourceName } from '../protocol.ts';
import type { RequestLog } from '../request-log.ts';
import { signedPost } from '../signed-post.ts';
import type { CallBack } from './jobs.ts';

/** Standard Webhooks secrets: base64, with or without `whsec_`. A source without a secret sends no callbacks. */
export type CallbackSecrets = Partial<Record<SourceName, string>>;

/**
 * Creates the function that reports the end of a job to the client: one POST, signed according to Standard Webhooks. A
 * failed callback is not repeated, because the client can poll the job. All callbacks of one job have the same message id.
 */
export function createCallBack(secrets: CallbackSecrets, log: RequestLog): CallBack {
  // Created now, so that an invalid secret fails the start and not the first callback.
  const signers = new Map(
    Object.entries(secrets).flatMap(([source, secret]) =>
      secret ? [[source, new Webhook(secret)] as const] : [],
    ),
  );
  return async (job) => {
    const signer = signers.get(job.source);
    if (!job.callback || !signer) return;
    const startedAtMs = Date.now();
    const body = JSON.stringify({ status: job.outcome === 'fails' ? 'failed' : 'completed' });
    const status = await signedPost(job.callback.url, signer, `msg_${job.id}`, body);
    log.add({
      at: new Date(startedAtMs).toISOString(),
      source: job.source,
      operation: 'callback',
      method: 'POST',
      // The path may contain a secret of the receiver.
      path: '',
      sample: job.sample,
      status,
      ms: Date.now() - startedAtMs,
    });
  };
}
