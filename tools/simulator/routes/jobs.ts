import type { Bundle, BundleEntry, FhirResource } from 'fhir/r4.js';
import { jobProgress, jobState, type SimulatedJob } from '../jobs/jobs.ts';
import { firstPage, selectResources } from '../paging.ts';
import {
  batchResponse,
  okResponse,
  operationOutcome,
  refusalResponse,
  type SimulatedResponse,
} from '../response.ts';
import type { SourceCall } from '../source.ts';
import { pathPart, type Route } from './route.ts';

const NDJSON = 'application/fhir+ndjson';
const ERROR_FILE = 'errors';
const DELETED_FILE = 'deleted';
const unknownJob = () =>
  refusalResponse(404, 'not-found', 'There is no such job.');

export const jobRoutes: Route[] = [
  {
    method: 'GET',
    path: '/$jobs/:jobId',
    operation: 'job',
    sample: (call) => jobOf(call)?.sample,
    answer: status,
  },
  {
    method: 'DELETE',
    path: '/$jobs/:jobId',
    operation: 'job',
    sample: (call) => jobOf(call)?.sample,
    answer: (call) => {
      const job = jobOf(call);
      if (!job) return unknownJob();
      call.source.jobs.cancel(job.id);
      return { status: 202 };
    },
  },
  {
    method: 'GET',
    path: '/$files/:jobId/:file',
    operation: 'page',
    // Without a token, the files are protected by the job's id, which cannot be
    // guessed.
    open: (call) => !call.source.settings().manifestRequiresAccessToken,
    sample: (call) => jobOf(call)?.sample,
    answer: file,
  },
];

function status(call: SourceCall): SimulatedResponse {
  const job = jobOf(call);
  if (!job) return unknownJob();
  const nowMs = Date.now();
  const state = jobState(job, nowMs);
  if (state === 'failed') {
    return refusalResponse(
      job.failureStatus ?? 500,
      'exception',
      'The network could not complete this request.',
    );
  }
  if (state === 'completed') return result(call, job);
  return {
    status: 202,
    headers: {
      'retry-after': String(call.source.settings().retryAfterSeconds),
      'x-progress': `${jobProgress(job, nowMs)}% collected`,
    },
  };
}

function result(call: SourceCall, job: SimulatedJob): SimulatedResponse {
  const { asyncResult } = call.source.settings();
  if (asyncResult === 'manifest') return manifest(call, job);
  const page = firstPage(call, job, job.count);
  return asyncResult === 'bundle'
    ? page
    : okResponse(batchResponse(page.body as Bundle));
}

function manifest(call: SourceCall, job: SimulatedJob): SimulatedResponse {
  const { manifestRequiresAccessToken, manifestWithErrors } =
    call.source.settings();
  const types = [
    ...new Set(resourcesOf(call, job).map(({ resourceType }) => resourceType)),
  ];
  const fileUrl = (name: string) =>
    `${call.baseUrl}/$files/${job.id}/${name}.ndjson`;
  return {
    status: 200,
    contentType: 'application/json',
    body: {
      transactionTime: new Date(job.readyAtMs).toISOString(),
      request: job.requestUrl,
      requiresAccessToken: manifestRequiresAccessToken,
      output: types.map((type) => ({ type, url: fileUrl(type) })),
      ...(deletionsOf(call, job).length > 0
        ? { deleted: [{ type: 'Bundle', url: fileUrl(DELETED_FILE) }] }
        : {}),
      error: manifestWithErrors
        ? [{ type: 'OperationOutcome', url: fileUrl(ERROR_FILE) }]
        : [],
    },
  };
}

function file(call: SourceCall): SimulatedResponse {
  const job = jobOf(call);
  if (!job || jobState(job, Date.now()) !== 'completed') return unknownJob();
  const name = pathPart(call, 'file').replace(/\.ndjson$/, '');
  const resources: FhirResource[] =
    name === ERROR_FILE
      ? [
          operationOutcome(
            'incomplete',
            'One member of the network did not answer.',
          ),
        ]
      : name === DELETED_FILE
        ? [
            {
              resourceType: 'Bundle',
              type: 'transaction',
              entry: deletionsOf(call, job),
            },
          ]
        : resourcesOf(call, job).filter(
            ({ resourceType }) => resourceType === name,
          );
  if (resources.length === 0)
    return refusalResponse(404, 'not-found', 'There is no such file.');
  const body = resources
    .map((resource) => `${JSON.stringify(resource)}\n`)
    .join('');
  return { status: 200, contentType: NDJSON, body };
}

function resourcesOf(call: SourceCall, job: SimulatedJob): FhirResource[] {
  const view = call.source.data.view(job.patientId);
  return view ? selectResources(call, view, job) : [];
}

/**
 * What the source has deleted, or moved to another patient, since the time that
 * a job was asked for.
 */
function deletionsOf(
  call: SourceCall,
  { since, sample }: SimulatedJob,
): BundleEntry[] {
  const { changes } = call.source.settings();
  if (since === undefined || changes !== 'honoured') return [];
  return call.source.data
    .removedSince(sample, since)
    .map((name) => ({ request: { method: 'DELETE' as const, url: name } }));
}

function jobOf(call: SourceCall): SimulatedJob | undefined {
  const job = call.source.jobs.get(pathPart(call, 'jobId'));
  return job?.source === call.source.name ? job : undefined;
}
