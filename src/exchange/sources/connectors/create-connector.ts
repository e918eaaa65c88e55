import type { SourceType } from '../../../contract/primitives.ts';
import type { SourceConnector } from './connector.ts';
import { type ConnectorDeps, createFhirConnector } from './fhir-connector.ts';
import { createIheConnector } from './ihe/ihe-connector.ts';
import type { SourceConfig } from './source-config.ts';

/** The connector to a source, by the protocol that it speaks. */
export const createConnector = (
  config: SourceConfig,
  deps: ConnectorDeps = {},
): SourceConnector =>
  config.ihe === undefined
    ? createFhirConnector(config, deps)
    : createIheConnector(config, config.ihe, deps);

/** One connector for each source. */
export const createConnectors = (
  configs: Record<SourceType, SourceConfig>,
  deps: ConnectorDeps = {},
): Record<SourceType, SourceConnector> => ({
  hie: createConnector(configs.hie, deps),
  pharmacy: createConnector(configs.pharmacy, deps),
  lab: createConnector(configs.lab, deps),
});
