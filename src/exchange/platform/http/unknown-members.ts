import type { preValidationAsyncHookHandler } from 'fastify';
import type { z } from 'zod';
import { callerOf } from './plugins/auth.ts';

/**
 * Removes the members that `schema` does not know from the body of an account of the dialect "published", whose clients send
 * more than the interface has. For other accounts the validation refuses them.
 */
export const dropUnknownMembers =
  (schema: z.ZodType): preValidationAsyncHookHandler =>
  async (request) => {
    if (callerOf(request).account.dialect !== 'published') return;
    for (const issue of schema.safeParse(request.body).error?.issues ?? [])
      if (issue.code === 'unrecognized_keys')
        for (const key of issue.keys) Reflect.deleteProperty(memberAt(request.body, issue.path), key);
  };

const memberAt = (body: unknown, path: readonly PropertyKey[]): object =>
  path.reduce((at, key) => (at as Record<PropertyKey, object>)[key] ?? {}, body as object);
