import { ApplicationFailure } from '@temporalio/activity';
import type {
  MessageKey,
  TransmissionStep,
} from '../../contract/messages-workflow.ts';
import type { Transmission } from '../../exchange/messaging/messages/transmission.ts';
import { PartnerFailure } from '../../exchange/platform/partners/partner-http.ts';
import { type HeartbeatOptions, withHeartbeat } from './heartbeat.ts';

export type MessageActivities = ReturnType<typeof createMessageActivities>;

const HEARTBEAT: HeartbeatOptions = {
  everyMs: 2_000,
  toFailure: describeFailure,
};

/**
 * The steps of a transmission. Each may run twice: the message's row shows
 * whether it has ended, and who receives it can know it by its id.
 */
export const createMessageActivities = ({
  transmission,
}: {
  transmission: Transmission;
}) => ({
  transmitMessage: (of: MessageKey): Promise<TransmissionStep> =>
    withHeartbeat(HEARTBEAT, (signal) => transmission.transmit(of, signal)),
  checkTransmission: (of: MessageKey): Promise<TransmissionStep> =>
    withHeartbeat(HEARTBEAT, (signal) => transmission.check(of, signal)),
  failTransmission: ({ reason, ...of }: MessageKey & { reason: string }) =>
    transmission.fail(of, reason),
});

function describeFailure(error: unknown): unknown {
  if (!(error instanceof PartnerFailure)) return error;
  const { message, options } = error;
  return ApplicationFailure.create({
    message,
    type: 'Partner',
    nextRetryDelay: options.retryAfterMs,
  });
}
