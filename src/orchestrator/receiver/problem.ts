import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { ERROR_NAMES, type ErrorBody, type ErrorStatus } from '../../contract/errors.ts';

/** Sends an error body in the interface's format (RFC 9457 with the published members). */
export function sendProblem(
  reply: FastifyReply,
  status: ErrorStatus,
  title: string,
  detail: string,
  errors?: ErrorBody['errors'],
): FastifyReply {
  const body: ErrorBody = {
    type: 'about:blank',
    status,
    name: ERROR_NAMES[status],
    title,
    detail,
    instance: `urn:uuid:${randomUUID()}`,
    errors,
  };
  return reply.code(status).type('application/problem+json').send(body);
}
