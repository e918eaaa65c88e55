import { type Answer, refusal } from '../answer.ts';
import { startJob } from '../jobs/start-job.ts';
import { firstPage, nextPage, patientOfPage } from '../paging.ts';
import { requestedSince } from '../since.ts';
import type { Call } from '../source.ts';
import { pathPart, type Route, requestedCount } from './route.ts';

export const everythingRoutes: Route[] = [
  {
    method: 'GET',
    path: '/Patient/:id/$everything',
    operation: 'everything',
    sample: (call) => call.source.data.sampleOf(pathPart(call, 'id')),
    answer: everything,
  },
  {
    method: 'GET',
    path: '',
    operation: 'page',
    sample: (call) => call.source.data.sampleOf(patientOfPage(call) ?? ''),
    answer: nextPage,
  },
];

function everything(call: Call): Answer {
  const settings = call.source.settings();
  if (!settings.everything || settings.documentNetwork)
    return refusal(404, 'not-supported', 'Patient/$everything is not supported.');
  const patientId = pathPart(call, 'id');
  const sample = call.source.data.sampleOf(patientId);
  if (!sample) return refusal(404, 'not-found', 'There is no Patient with this id.');

  const types = settings.honoursTypeFilter ? typesOf(call) : undefined;
  const count = requestedCount(call);
  const since = requestedSince(call);
  if (!settings.async || !prefersAsync(call)) return firstPage(call, { patientId, types, since }, count);
  const requestUrl = `${call.baseUrl}/Patient/${patientId}/$everything`;
  return startJob(call, { sample, patientId, types, count, since, requestUrl });
}

function typesOf(call: Call): string[] | undefined {
  const types = call.params.getAll('_type').flatMap((value) => value.split(','));
  return types.length > 0 ? types : undefined;
}

function prefersAsync(call: Call): boolean {
  const { prefer } = call.request.headers;
  return typeof prefer === 'string' && prefer.split(/[,;]/).some((part) => part.trim() === 'respond-async');
}
