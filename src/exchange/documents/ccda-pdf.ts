import type { ReadableDocument } from './readable-document.ts';
import type { Rendering } from './render.ts';

export async function ccdaPdf(_document: ReadableDocument): Promise<Rendering> {
  return { kind: 'refused', reason: 'pdf' };
}
