import type { FastifyRequest } from 'fastify';
import type { SourceData } from './data/source-data.ts';
import type { FaultBook } from './faults/fault-book.ts';
import type { Fault } from './faults/rules.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { SourceName } from './protocol.ts';
import type { SourceSettings } from './settings.ts';

/** One source network: what it holds and how it is set to behave right now. */
export interface Source {
  name: SourceName;
  settings: () => SourceSettings;
  data: SourceData;
  faults: FaultBook;
  jobs: Jobs;
  /** Where access tokens are issued; undefined where a fixed bearer token is used. */
  tokenPath?: string;
}

/** One request to a source, as its handlers see it. */
export interface Call {
  source: Source;
  request: FastifyRequest;
  /** Absolute base address of the source, as the caller reaches it, without a slash at the end. */
  baseUrl: string;
  /** Parameters of the address and, for `_search`, of the form. */
  params: URLSearchParams;
  /** Set while a patient is looked up and a rule wants it to go wrong. */
  matchFault?: Fault;
  /** Writes a fault that was applied into the request log. */
  note(fault: Fault): void;
}
