import { z } from 'zod';
import { SourceFailure } from '../../connector.ts';
import type { ResolvedSourceConfig } from '../../source-config.ts';
import { badResponse, failureOfStatus } from '../failures.ts';
import { requestJson } from './json-request.ts';
import type { TokenDeps } from './token-deps.ts';

const WELL_KNOWN = '.well-known/smart-configuration';
const KEPT_MS = 10 * 60_000;

const configurationSchema = z.object({
  token_endpoint: z.url({ protocol: /^https?$/ }),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  token_endpoint_auth_signing_alg_values_supported: z.array(z.string()).optional(),
});

export interface SmartServer {
  tokenUrl: string;
  /** Undefined when the server does not list them. */
  algorithms?: readonly string[];
}

/** Reads where a FHIR server's token endpoint is, and what it accepts; remembers the answer for ten minutes. */
export function createSmartDiscovery(
  config: ResolvedSourceConfig,
  deps: Pick<TokenDeps, 'dispatcher' | 'now'>,
): () => Promise<SmartServer> {
  let known: { server: SmartServer; staleAtMs: number } | undefined;
  return async () => {
    if (known === undefined || deps.now() >= known.staleAtMs)
      known = { server: await discover(config, deps), staleAtMs: deps.now() + KEPT_MS };
    return known.server;
  };
}

async function discover(
  config: ResolvedSourceConfig,
  { dispatcher }: Pick<TokenDeps, 'dispatcher'>,
): Promise<SmartServer> {
  const { source, baseUrl } = config;
  const url = new URL(WELL_KNOWN, baseUrl);
  const { status, json } = await requestJson(config, dispatcher, { url, label: WELL_KNOWN });
  if (status !== 200) throw notFound(config, status);
  const found = configurationSchema.safeParse(json);
  if (!found.success) throw badResponse(source, `answered ${WELL_KNOWN} without a token endpoint`);
  return checked(config, found.data);
}

function checked(
  { source, baseUrl }: ResolvedSourceConfig,
  found: z.infer<typeof configurationSchema>,
): SmartServer {
  const methods = found.token_endpoint_auth_methods_supported;
  if (methods !== undefined && !methods.includes('private_key_jwt'))
    throw new SourceFailure('denied', `${source} does not offer private_key_jwt (${WELL_KNOWN})`);
  // A token must not travel less protected than the data it opens.
  if (baseUrl.protocol === 'https:' && new URL(found.token_endpoint).protocol !== 'https:')
    throw new SourceFailure('denied', `${source} names a token endpoint without https (${WELL_KNOWN})`);
  return {
    tokenUrl: found.token_endpoint,
    algorithms: found.token_endpoint_auth_signing_alg_values_supported,
  };
}

function notFound({ source }: ResolvedSourceConfig, status: number): SourceFailure {
  if (status !== 404) return failureOfStatus(source, WELL_KNOWN, { status });
  return new SourceFailure('denied', `${source} has no ${WELL_KNOWN}; configure its token endpoint`, {
    httpStatus: status,
  });
}
