import { type givenVariables, sourceVariableNames } from '../../src/config.ts';
import type { StackOptions } from './stack-options.ts';

/**
 * Reads which external services replace parts of the stack: DATABASE_URL, TEMPORAL_ADDRESS, and for each source its
 * `…_BASE_URL` with its other variables. Throws ConfigError.
 */
export function outsideParts(given: typeof givenVariables): NonNullable<StackOptions['outside']> {
  const { DATABASE_URL: databaseUrl } = given(['DATABASE_URL']);
  const temporal = given(['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_UI_URL']);
  const sources: NonNullable<StackOptions['outside']>['sources'] = {};
  for (const prefix of ['HIE', 'PHARMACY', 'LAB'] as const) {
    const variables = given(sourceVariableNames(prefix));
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
            environment: given([
              'TEMPORAL_API_KEY',
              'TEMPORAL_TLS_CA',
              'TEMPORAL_TLS_CERT',
              'TEMPORAL_TLS_KEY',
            ]) as Record<string, string>,
          },
        }),
  };
}
