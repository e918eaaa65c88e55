import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { systemEnvironment } from '../config.ts';

/** A thread does not inherit its process's TypeScript loader, so it registers tsx itself. */
const TSX = pathToFileURL(
  createRequire(import.meta.url)
    .resolve('tsx/esm/api')
    .replace(/\.cjs$/, '.mjs'),
);

/**
 * Starts a thread that runs one of our own source files, with a limited JavaScript heap: exceeding it ends the thread with
 * ERR_WORKER_OUT_OF_MEMORY, not the process.
 */
export const startSourceThread = (file: URL, options: { heapMb: number; workerData?: unknown }): Worker =>
  new Worker(
    `import(${JSON.stringify(TSX.href)})
      .then(({ register }) => { register(); return import(${JSON.stringify(file.href)}); });`,
    {
      eval: true,
      workerData: options.workerData,
      execArgv: [],
      // A thread reads foreign documents: it gets none of the secrets that its process was started with.
      env: systemEnvironment(),
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    },
  );
