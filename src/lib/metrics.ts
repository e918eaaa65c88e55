import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * Creates the Prometheus registry of a process, with Node's default metrics.
 * Labels must have few, fixed values (states, types, queues), and never ids or
 * personal data.
 */
export function createMetrics(processName: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ process: processName });
  collectDefaultMetrics({ register: registry });
  return registry;
}
