import { z } from 'zod';
import { eventMetaOf } from './event-meta.ts';
import { component } from './primitives.ts';

export const TEST_EVENT_TYPE = 'webhook.test';

/** Sent on request, to test a receiver (POST /settings/webhook/test). */
export const testEventSchema = component('TestEvent', {
  meta: eventMetaOf(z.literal(TEST_EVENT_TYPE)),
  payload: z.object({ message: z.string() }),
});
