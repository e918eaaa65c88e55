import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The interceptors of workflow code: a source here, a script in the packed library. */
export const TRACE_INTERCEPTORS = fileURLToPath(
  new URL(`./in-workflows${extname(new URL(import.meta.url).pathname)}`, import.meta.url),
);
