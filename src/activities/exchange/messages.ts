import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { MessageTransmissionInput, TransmissionStep } from '../../contract/messages-workflow.ts';
import type { Transmission } from '../../exchange/messages/transmission.ts';
import { PartnerFailure } from '../../exchange/platform/partners/partner-http.ts';

export type MessageActivities = ReturnType<typeof createMessageActivities>;

const HEARTBEAT_EVERY_MS = 2_000;

/** The steps of a transmission. Each may run twice: the message's row says whether it has ended, its id that it is known. */
export function createMessageActivities({ transmission }: { transmission: Transmission }) {
  async function asStep(work: (signal: AbortSignal) => Promise<TransmissionStep>): Promise<TransmissionStep> {
    const context = Context.current();
    const timer = setInterval(() => context.heartbeat(), HEARTBEAT_EVERY_MS);
    try {
      return await work(context.cancellationSignal);
    } catch (error) {
      if (context.cancellationSignal.aborted) throw new CancelledFailure('Stopped on request');
      if (!(error instanceof PartnerFailure)) throw error;
      const { message, options } = error;
      throw ApplicationFailure.create({ message, type: 'Partner', nextRetryDelay: options.retryAfterMs });
    } finally {
      clearInterval(timer);
    }
  }

  return {
    transmitMessage: (of: MessageTransmissionInput) => asStep((signal) => transmission.transmit(of, signal)),
    checkTransmission: (of: MessageTransmissionInput) => asStep((signal) => transmission.check(of, signal)),
    failTransmission: ({ reason, ...of }: MessageTransmissionInput & { reason: string }) =>
      transmission.fail(of, reason),
  };
}
