import { parentPort } from 'node:worker_threads';
import type { DocumentFormat } from '../../../contract/documents.ts';
import { type Rendering, renderDocument } from './render.ts';

/**
 * A message to the thread, which answers each with one `Rendering`, in order.
 */
export interface RenderJob {
  bytes: Uint8Array;
  format: DocumentFormat;
}

parentPort?.on('message', ({ bytes, format }: RenderJob) => {
  void renderDocument(bytes, format)
    .catch(
      (): Rendering => ({
        kind: 'refused',
        reason: 'it does not have the structure of a C-CDA document',
      }),
    )
    .then((rendering) => parentPort?.postMessage(rendering));
});
