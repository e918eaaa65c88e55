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
  /** For a look-up of a patient that is about to be answered: what a rule wants to go wrong with it. */
  takeMatchFault(): Fault | undefined;
  /** Writes a fault that was applied into the request log. */
  note(fault: Fault): void;
}
