import type { FastifyRequest } from 'fastify';
import type {
  Fault,
  GatewayTrouble,
} from '../../src/local-stack/simulator/faults.ts';
import type { SourceName } from '../../src/local-stack/simulator/protocol.ts';
import type { SourceData } from './data/source-data.ts';
import type { FaultBook } from './faults/rules.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { SourceSettings } from './settings.ts';

/** One source network: its records and its current settings. */
export interface Source {
  name: SourceName;
  settings: () => SourceSettings;
  data: SourceData;
  faults: FaultBook;
  jobs: Jobs;
  /** The token endpoint; undefined for a source with a fixed bearer token. */
  tokenPath?: string;
}

/** One request to a source, as passed to its handlers. */
export interface SourceCall {
  source: Source;
  request: FastifyRequest;
  /**
   * Absolute base address of the source for the caller, without a trailing
   * slash.
   */
  baseUrl: string;
  /** Parameters of the URL and, for `_search`, of the form. */
  params: URLSearchParams;
  /** Takes the fault to apply to a patient match, if a rule requests one. */
  takeMatchFault(): Fault | undefined;
  /**
   * Takes the trouble that the IHE gateway is made to have, if it is one of
   * these.
   */
  takeGatewayTrouble(
    troubles: readonly GatewayTrouble[],
  ): GatewayTrouble | undefined;
  /** Takes the fault to apply to an answer that is sent later. */
  takeCallbackFault(): Fault | undefined;
  /** Records an applied fault in the request log. */
  note(fault: Fault): void;
}
