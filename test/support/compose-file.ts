import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { VARIABLES } from '../../src/config.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const readText = (path: string): string =>
  readFileSync(join(ROOT, path), 'utf8');

export interface ComposeService {
  image: string;
  build?: string;
  user?: string;
  init?: boolean;
  read_only?: boolean;
  cap_drop?: string[];
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string>;
  secrets?: string[];
  ports?: string[];
  volumes?: string[];
  networks?: string[] | Record<string, { aliases?: string[] }>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  stop_grace_period?: string;
  cpu_shares?: number;
  profiles?: string[];
}

interface ComposeFile {
  services: Record<string, ComposeService>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
}

const VARIABLE = /\$\{([A-Z_]+):?-([^}]*)\}/g;

const text = readText('docker-compose.yml');

/** What the file takes from .env, with its defaults. */
export const taken = new Map(
  [...text.matchAll(VARIABLE)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
);

/**
 * A file as compose sees it without an .env: it reads first and fills in then.
 */
export const readCompose = (yaml: string): unknown =>
  JSON.parse(
    JSON.stringify(parse(yaml, { merge: true, maxAliasCount: -1 })).replace(
      VARIABLE,
      (_, __, value: string) => value,
    ),
  );

export const compose = readCompose(text) as ComposeFile;

export const services = Object.entries(compose.services);
/** Those that run our image. */
export const ours = services.filter(
  ([, service]) => service.build !== undefined,
);

/**
 * Whether a process of ours reads a variable of this name: one of config.ts, or
 * Node.js's own.
 */
export const isVariable = (name: string): boolean =>
  name in VARIABLES || name === 'NODE_OPTIONS';

/** The entry point that a service of ours runs. */
export const entryOf = ({
  entrypoint,
  command,
}: ComposeService): string | undefined =>
  [...(entrypoint ?? []), ...(command ?? [])].find((word) =>
    /^(?:src|tools)\//.test(word),
  );
