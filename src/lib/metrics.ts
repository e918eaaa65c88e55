import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * A process's own Prometheus registry with Node's default metrics. Labels are few and closed (states, types,
 * queues): never an id, never anything of a person.
 */
export function createMetrics(processName: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ process: processName });
  collectDefaultMetrics({ register: registry });
  return registry;
}
