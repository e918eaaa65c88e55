import { givenVariables, readConfig } from '../config.ts';
import { readConnection } from '../embedded/connection-file.ts';
import { ensureSecrets } from '../embedded/stack-secrets.ts';
import { TEMPORAL_VARIABLES, type TemporalConfig } from '../temporal/client.ts';

/**
 * How an operator's tool reaches Temporal: the running embedded stack on `dataDir` if that is given, else the server of
 * TEMPORAL_ADDRESS, else the embedded stack on DATA_DIR. Throws ConfigError, NoStackError.
 */
export async function temporalTarget(dataDir?: string): Promise<TemporalConfig> {
  if (dataDir === undefined && givenVariables(['TEMPORAL_ADDRESS']).TEMPORAL_ADDRESS !== undefined)
    return readConfig(TEMPORAL_VARIABLES);
  const folder = dataDir ?? readConfig(['DATA_DIR']).DATA_DIR;
  const { temporalAddress, temporalNamespace } = await readConnection(folder);
  const { dataKeys } = await ensureSecrets(folder);
  return {
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: temporalNamespace,
    TEMPORAL_API_KEY: undefined,
    TEMPORAL_TLS: false,
    DATA_KEYS: dataKeys,
  };
}
