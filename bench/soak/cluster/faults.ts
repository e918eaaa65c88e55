import type { Cluster } from '../../../tools/cluster/cluster.ts';
import { kill } from '../mixed/faults.ts';
import type { Fault } from '../mixed/plan.ts';
import { RESTARTED, ROLLED } from './plan.ts';

/** Does the fault, and waits until what was ended serves again. */
export async function cause(
  cluster: Cluster,
  { kind, target }: Fault,
): Promise<void> {
  if (kind === ROLLED) return cluster.roll();
  // A worker's name ends with its build.
  const names = Object.keys(cluster.pids());
  const name =
    names.find((known) => known === target || known.startsWith(`${target}-`)) ??
    target;
  await kill(cluster, name, kind === RESTARTED ? 'SIGINT' : 'SIGKILL');
}
