import {
  type ComposeService,
  compose,
  readCompose,
  readText,
} from './compose-file.ts';

/** What a compose file may say about a service of another file. */
type Change = Partial<ComposeService> & {
  extends?: { file: string; service: string };
};

const REMOVED = 'removed';
/**
 * `!reset null` removes a service or a setting; `!override` marks a setting
 * that is replaced.
 */
const text = readText('docker-compose.cloud.yml')
  .replaceAll('!reset null', REMOVED)
  .replaceAll('!override', '');
const cloud = readCompose(text) as {
  services: Record<string, Change | typeof REMOVED>;
  secrets: Record<string, { file: string }>;
};

export const cloudSecrets = cloud.secrets;

/**
 * The services of docker-compose.yml together with docker-compose.cloud.yml.
 */
export const cloudServices: [name: string, service: ComposeService][] = [
  ...new Set([
    ...Object.keys(compose.services),
    ...Object.keys(cloud.services),
  ]),
].flatMap((name) => {
  const change = cloud.services[name];
  if (change === REMOVED) return [];
  const base = compose.services[change?.extends?.service ?? name];
  if (base === undefined)
    throw new Error(`docker-compose.yml has no service for ${name}`);
  return [[name, merged(base, change ?? {})]];
});

/**
 * As compose merges: mappings and lists of names are united, except
 * `depends_on`, which the file replaces or removes.
 */
function merged(base: ComposeService, change: Change): ComposeService {
  const { depends_on: before, ...baseRest } = base;
  const { depends_on: after = before, ...changeRest } = change;
  const isRemoved = after === (REMOVED as unknown);
  return {
    ...baseRest,
    ...changeRest,
    environment: { ...base.environment, ...change.environment },
    secrets: [...new Set([...(base.secrets ?? []), ...(change.secrets ?? [])])],
    networks: { ...named(base.networks), ...named(change.networks) },
    ...(after === undefined || isRemoved ? {} : { depends_on: after }),
  };
}

function named(networks: ComposeService['networks'] = {}) {
  return Array.isArray(networks)
    ? Object.fromEntries(networks.map((name) => [name, {}]))
    : networks;
}
