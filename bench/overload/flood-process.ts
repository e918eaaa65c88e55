import { type FloodOrder, flood } from './flood.ts';

/**
 * A process that floods a gateway, so that its own load does not distort what
 * the parent measures.
 */
process.once('message', async (order: FloodOrder) => {
  const counts = await flood(order);
  process.send?.(counts, () => process.disconnect());
});
