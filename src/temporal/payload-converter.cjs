/**
 * Turns what the codec refused (codec.ts) into a value that no code can use by mistake: whatever waits for it, such as the
 * result of an activity, fails; `refusals-in-workflows.ts` looks for it in the input of workflows and activities. A thenable, because that
 * costs nothing where nothing was refused: the order of a workflow's steps stays as it is in histories.
 * CommonJS, because the SDK loads this file with `require`, both in the process and in the workflow bundle.
 */
const {
  ApplicationFailure,
  defaultPayloadConverter,
} = require('@temporalio/common');

const message =
  'Temporal holds a payload here that is not encrypted with DATA_KEYS; it is not accepted';
const decoder = new TextDecoder();

class RefusedPayload {
  isRefusedPayload = true;
  /** Stands for the texts of a failure. */
  message = message;
  failure = ApplicationFailure.nonRetryable(message, 'PayloadNotEncrypted');

  // biome-ignore lint/suspicious/noThenProperty: the purpose of this class
  then(_resolve, reject) {
    reject(this.failure);
  }
}

exports.RefusedPayload = RefusedPayload;
exports.payloadConverter = {
  toPayload: (...given) => defaultPayloadConverter.toPayload(...given),
  fromPayload: (payload, ...rest) =>
    decoder.decode(payload.metadata?.encoding ?? undefined) === 'refused'
      ? new RefusedPayload()
      : defaultPayloadConverter.fromPayload(payload, ...rest),
};
