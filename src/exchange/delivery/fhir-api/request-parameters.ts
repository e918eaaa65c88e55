import type { FastifyRequest } from 'fastify';
import { queryOf } from '../../../lib/query-of.ts';
import { InvalidRequestError } from '../../platform/errors.ts';
import type { SearchFault, SearchPair } from './rules/search-request.ts';

/** The parameters of the URL and of a form in the body, in order. */
export function pairsOf(request: FastifyRequest): SearchPair[] {
  const query = queryOf(request.url);
  const form = request.body instanceof URLSearchParams ? [...request.body] : [];
  return [...new URLSearchParams(query), ...form];
}

/** Whether the header Prefer contains the preference, such as `respond-async` or `handling=strict`. */
export const prefers = ({ headers }: FastifyRequest, preference: string): boolean =>
  [headers.prefer ?? '']
    .flat()
    .join(',')
    .split(/[,;]/)
    .some((each) => each.replaceAll(/[\s"]/g, '').toLowerCase() === preference);

/** @throws InvalidRequestError for faults, and with strict handling also for ignored parameters */
export function checkSearch(
  request: FastifyRequest,
  { faults, ignored }: { faults: readonly SearchFault[]; ignored: readonly string[] },
): void {
  const unknown = prefers(request, 'handling=strict')
    ? ignored.map((parameter) => ({ parameter, message: 'is not supported here' }))
    : [];
  const all = [...faults, ...unknown];
  if (all.length > 0)
    throw new InvalidRequestError(all.map(({ parameter, message }) => ({ path: parameter, message })));
}
