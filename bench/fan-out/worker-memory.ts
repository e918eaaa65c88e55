import { readFile } from 'node:fs/promises';
import { request } from 'undici';

/** Of the worker, in MB: while it works on one round of queries. */
export interface RoundMemory {
  /** Resident, at most. */
  resident: number;
  /** Of its main thread, after the round: what V8 has for new objects. */
  young: number;
  /** And what is used of the rest of its heap, garbage included. */
  old: number;
}

/** Resident memory of a process, in MB. */
export async function residentOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /VmRSS:\s+(\d+)/.exec(status)?.[1];
  return Math.round(Number(kilobytes ?? 0) / 1_024);
}

/** The heap of a worker's main thread, by the worker's metrics. */
export async function heapAt(
  port: number,
): Promise<Pick<RoundMemory, 'young' | 'old'>> {
  const answer = await request(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.body.text();
  const megabytes = (metric: string, space: string) => {
    const line = new RegExp(
      `^nodejs_heap_space_size_${metric}_bytes\\{[^}]*space="${space}"[^}]*\\} (\\S+)`,
      'm',
    );
    return Math.round(Number(line.exec(text)?.[1] ?? Number.NaN) / 1_000_000);
  };
  return { young: megabytes('total', 'new'), old: megabytes('used', 'old') };
}

/** Calls `work` and notes the memory that the worker takes meanwhile. */
export async function withMemory<T>(
  worker: { pid: () => number | undefined; port: number },
  work: () => Promise<T>,
): Promise<{ result: T; memory: RoundMemory }> {
  let resident = 0;
  const sampler = setInterval(() => {
    void residentOf(worker.pid()).then((megabytes) => {
      resident = Math.max(resident, megabytes);
    });
  }, 500);
  try {
    const result = await work();
    return { result, memory: { resident, ...(await heapAt(worker.port)) } };
  } finally {
    clearInterval(sampler);
  }
}
