import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { sendProblem } from './problem.ts';
import { type ReceiverDeps, rawBodyOf } from './receiver-deps.ts';
import { isSigned } from './signatures.ts';
import { parseJson } from './webhook-message.ts';

const confirmationSchema = z.object({
  jobId: z.string().trim().min(1).max(255),
  aal2SessionId: z.string().min(1).max(500),
});

/**
 * `POST /intake/confirmation` `{jobId, aal2SessionId}`, signed with INTAKE_KEY: reports that the person of that job's
 * onboarding has authenticated with two factors and returned to the redirect address with this session. Responds 202; 400
 * for an invalid body; 401 without a valid signature; 404 when no such onboarding is running; 503 when Temporal is down.
 */
export function registerConfirmation(
  app: FastifyInstance,
  { onboardings, intakeKeys, logger }: ReceiverDeps,
): void {
  app.post('/intake/confirmation', async (request, reply) => {
    const rawBody = rawBodyOf(request.body);
    if (!isSigned(rawBody, request.headers, intakeKeys))
      return sendProblem(reply, 401, 'Unauthorized', 'The signature is missing, invalid or too old');
    const confirmation = confirmationSchema.safeParse(parseJson(rawBody));
    if (!confirmation.success)
      return sendProblem(reply, 400, 'Missing or invalid parameters', 'jobId and aal2SessionId are required');
    const { jobId, aal2SessionId } = confirmation.data;
    try {
      if (await onboardings.signalConfirmed(jobId, { aal2SessionId }))
        return reply.code(202).send({ message: 'taken' });
      return sendProblem(reply, 404, 'Not found', 'No onboarding for this job is running');
    } catch (error) {
      logger.error({ err: error }, 'could not signal a confirmation to its onboarding');
      return sendProblem(
        reply.header('retry-after', '5'),
        503,
        'Service unavailable',
        'Temporal cannot be reached; send the request again in a few seconds',
      );
    }
  });
}
