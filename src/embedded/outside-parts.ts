import type { givenVariables } from '../config.ts';
import type { SourcePrefix } from './stack-environment.ts';
import type { StackOptions } from './stack-options.ts';

const sourceVariables = <const P extends SourcePrefix>(prefix: P) =>
  [
    `${prefix}_BASE_URL`,
    `${prefix}_BEARER_TOKEN`,
    `${prefix}_TOKEN_URL`,
    `${prefix}_CLIENT_ID`,
    `${prefix}_CLIENT_SECRET`,
    `${prefix}_CALLBACK_SECRET`,
    `${prefix}_ALLOWED_ORIGINS`,
    `${prefix}_RATE_PER_SECOND`,
  ] as const;

/**
 * What the environment offers in place of the stack's own parts: DATABASE_URL, TEMPORAL_ADDRESS, and for each source
 * its `…_BASE_URL` with everything that belongs to it. Throws ConfigError.
 */
export function outsideParts(given: typeof givenVariables): NonNullable<StackOptions['outside']> {
  const { DATABASE_URL: databaseUrl } = given(['DATABASE_URL']);
  const temporal = given(['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_UI_URL']);
  const sources: NonNullable<StackOptions['outside']>['sources'] = {};
  for (const prefix of ['HIE', 'PHARMACY', 'LAB'] as const) {
    const variables = given(sourceVariables(prefix));
    if (`${prefix}_BASE_URL` in variables) sources[prefix] = variables as Record<string, string>;
  }
  return {
    databaseUrl,
    sources,
    ...(temporal.TEMPORAL_ADDRESS === undefined
      ? {}
      : {
          temporal: {
            address: temporal.TEMPORAL_ADDRESS,
            namespace: temporal.TEMPORAL_NAMESPACE ?? 'default',
            uiUrl: temporal.TEMPORAL_UI_URL,
            environment: given(['TEMPORAL_API_KEY', 'TEMPORAL_TLS']) as Record<string, string>,
          },
        }),
  };
}
