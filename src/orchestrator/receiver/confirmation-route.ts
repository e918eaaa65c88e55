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
 * `POST /intake/confirmation` `{jobId, aal2SessionId}`, signed with INTAKE_KEY: the person of that job's onboarding has shown
 * two factors and came back to the redirect address with this session. Answers 202; 400; 404 when no such onboarding runs;
 * 503 when Temporal is away.
 */
export function registerConfirmation(
  app: FastifyInstance,
  { onboardings, intakeKeys, logger }: ReceiverDeps,
): void {
  app.post('/intake/confirmation', async (request, reply) => {
    const rawBody = rawBodyOf(request.body);
    if (!isSigned(rawBody, request.headers, intakeKeys))
      return sendProblem(reply, 401, 'Unauthorized', 'The signature is missing, wrong, or too old');
    const confirmation = confirmationSchema.safeParse(parseJson(rawBody));
    if (!confirmation.success)
      return sendProblem(reply, 400, 'Missing or invalid parameters', 'jobId and aal2SessionId are required');
    const { jobId, aal2SessionId } = confirmation.data;
    try {
      if (await onboardings.tellConfirmed(jobId, { aal2SessionId }))
        return reply.code(202).send({ message: 'taken' });
      return sendProblem(reply, 404, 'Not found', 'No onboarding of this job is running');
    } catch (error) {
      logger.error({ err: error }, 'confirmation could not be passed on');
      return sendProblem(
        reply.header('retry-after', '5'),
        503,
        'Service unavailable',
        'Send it again shortly',
      );
    }
  });
}
