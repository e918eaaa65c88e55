import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readOnboardingRequest } from '../patient-onboarding/onboarding-request.ts';
import { sendProblem } from './problem.ts';
import { type ReceiverDeps, rawBodyOf } from './receiver-deps.ts';
import { isSigned } from './signatures.ts';
import { parseJson } from './webhook-message.ts';

/**
 * `POST /intake` `{jobId, facilityId, patient, cohortIds?, sources?, ias?, metadata?}`, signed with INTAKE_KEY: starts the
 * onboarding of that job, once. Responds 202 `{workflowId}`; 400 with the list of problems; 401 without a valid signature;
 * 503 when Temporal is down.
 */
export function registerIntake(
  app: FastifyInstance,
  { onboardings, intakeKeys, logger }: ReceiverDeps,
): void {
  app.post('/intake', async (request, reply) => {
    const rawBody = rawBodyOf(request.body);
    if (!isSigned(rawBody, request.headers, intakeKeys))
      return sendProblem(reply, 401, 'Unauthorized', 'The signature is missing, invalid or too old');
    const body = parseJson(rawBody);
    const read = body === undefined ? NOT_JSON : readOnboardingRequest(body);
    if (!read.ok)
      return sendProblem(
        reply,
        400,
        'Missing or invalid parameters',
        read.problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join(', '),
        read.problems,
      );
    try {
      const workflowId = await onboardings.start(read.request, messageIdOf(request, rawBody));
      logger.info({ workflowId }, 'intake taken');
      return reply.code(202).send({ workflowId });
    } catch (error) {
      logger.error({ err: error }, 'could not start an onboarding from intake');
      return sendProblem(
        reply.header('retry-after', '5'),
        503,
        'Service unavailable',
        'Temporal cannot be reached; send the request again in a few seconds',
      );
    }
  });
}

const NOT_JSON = {
  ok: false as const,
  problems: [{ path: '', message: 'The body is not valid JSON' }],
};

/** The sender's id of this message, or else its content. Hashed, because senders may use record numbers as ids. */
const messageIdOf = (request: FastifyRequest, rawBody: Buffer): string =>
  createHash('sha256')
    .update(request.headers['webhook-id']?.toString() ?? rawBody)
    .digest('hex')
    .slice(0, 32);
