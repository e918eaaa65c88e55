import { Counter, Gauge, type Registry } from 'prom-client';
import type { KindReconciled } from '../../../contract/reconcile-workflow.ts';

/** An age that is older than this is no longer shown: another worker has made the newer rounds. */
const SHOWN_MS = 5 * 60_000;

export interface ReconcileMetrics {
  record(kind: string, done: KindReconciled): void;
}

export function createReconcileMetrics(registry: Registry): ReconcileMetrics {
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['kind'] as const, registers: [registry] });
  const found = counter('reconcile_found_total', 'Unfinished items found by reconcile, by kind');
  const healed = counter(
    'reconcile_healed_total',
    'Items that reconcile completed or started again, by kind',
  );
  const failed = counter('reconcile_failed_total', 'Items that reconcile could not complete, by kind');
  const oldest = new Gauge({
    name: 'reconcile_oldest_seconds',
    help: 'Age of the oldest unfinished item that the last round of reconcile found, by kind; 0 if it found none',
    labelNames: ['kind'] as const,
    registers: [registry],
    collect() {
      if (Date.now() - recordedAt > SHOWN_MS) this.reset();
    },
  });
  let recordedAt = 0;
  return {
    record(kind, done) {
      recordedAt = Date.now();
      found.inc({ kind }, done.found);
      healed.inc({ kind }, done.healed);
      failed.inc({ kind }, done.failed);
      oldest.set({ kind }, done.oldestSeconds ?? 0);
    },
  };
}
