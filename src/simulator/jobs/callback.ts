import { Webhook } from 'standardwebhooks';
import type { SourceName } from '../protocol.ts';
import type { RequestLog } from '../request-log.ts';
import { signedPost } from '../signed-post.ts';
import type { CallBack } from './jobs.ts';

/** Standard Webhooks secrets: base64, with or without `whsec_`. A source without one makes no callbacks. */
export type CallbackSecrets = Partial<Record<SourceName, string>>;

/**
 * Tells the party that asked that its job has ended: one POST, signed by the rules of Standard Webhooks. It is not
 * repeated when it fails; whoever asked can still ask for the job's state. Repeats of one job carry one message id.
 */
export function createCallBack(secrets: CallbackSecrets, log: RequestLog): CallBack {
  // Made at once, so that a secret that is none stops the start and not the first callback.
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
      // The path may hold a secret of the receiver.
      path: '',
      sample: job.sample,
      status,
      ms: Date.now() - startedAtMs,
    });
  };
}
