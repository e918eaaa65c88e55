/**
 * Which folder of `src`, `tools` and `bench` may import which. (Files of
 * `packages` import only their own package: `ofPackages`.) The first rule
 * whose `from` matches a file applies to it: the file may import whatever
 * matches `from` or `may`, and, if `packages` is given, only these packages.
 * Entry points (`src/*.ts`) and the starter assemble all of `src` and have no
 * rule.
 */
export interface ImportRule {
  from: RegExp;
  may: readonly RegExp[];
  packages?: readonly RegExp[];
  why: string;
}

const CONTRACT = /^contract\//;
const SHARED = /^shared\//;
const LIB = /^lib\//;
const CONFIG = /^config\.ts$/;
const TEMPORAL = /^temporal\//;
/** What the command line and the stack on one machine share. */
const LOCAL_STACK = /^local-stack\//;
/** What every tool may import of the product. */
const PRODUCT_FOR_TOOLS = [CONTRACT, LIB, CONFIG, TEMPORAL, LOCAL_STACK];
/** The parts of the exchange with which a new stack gets its first account. */
const FIRST_ACCOUNT = [
  /^exchange\/operations\/admin\/seed\.ts$/,
  /^exchange\/platform\/database\/database\.ts$/,
  /^exchange\/platform\/outbox\/webhook-key\.ts$/,
  /^exchange\/messaging\/webhooks\/settings-store\.ts$/,
];
const EMBEDDED = /^tools\/embedded\//;
const CLUSTER = /^tools\/cluster\//;
/** Contains only keys, so workflow code may import it. */
const SEARCH_ATTRIBUTES = /^temporal\/search-attributes\.ts$/;
/** What a key of an account, and one of its webhooks, looks like. */
const KEY_FORMATS =
  /^exchange\/(?:access\/accounts\/rules\/api-key|platform\/outbox\/webhook-key)\.ts$/;
/** Pure rules of the exchange's features. */
const RULES = /^exchange\/(?:[\w-]+\/)+rules\//;
const EXCHANGE = /^exchange\//;
const ORCHESTRATOR = /^orchestrator\//;
const OWN_SERVICE =
  'The exchange and the orchestrator know each other only through contract.';
/**
 * The districts of the exchange, the lowest first: each may import those before
 * it (src/exchange/README.md).
 */
export const DISTRICTS = [
  'platform',
  'access',
  'people',
  'records',
  'sources',
  'queries',
  'delivery',
  'messaging',
  'operations',
] as const;
const DETERMINISTIC =
  'Workflow code is deterministic: no I/O. Put it into an activity.';
/**
 * Packages of this repository without I/O and clock, so that rules may use
 * them.
 */
const PURE_PACKAGES =
  /^#(?:hl7v2-to-fhir|person-matching|record-summary\/fhir|sql-on-fhir)$/;
const WORKFLOW_PACKAGES = [/^@temporalio\/(?:workflow|common)$/];

export const IMPORT_RULES: readonly ImportRule[] = [
  {
    from: CONTRACT,
    may: [],
    packages: [/^zod$/, /^fastest-levenshtein$/],
    why: 'contract describes what crosses the interface; it imports nothing else of this repository.',
  },
  {
    from: /^config\//,
    may: [LIB],
    why: 'config declares variables; only config.ts reads them, and all others read that.',
  },
  {
    from: LIB,
    may: [CONFIG],
    why: 'lib contains general helpers; they must not depend on the product.',
  },
  {
    from: TEMPORAL,
    may: [CONTRACT, LIB, CONFIG],
    why: 'temporal may depend on contract and lib, but on neither service.',
  },
  {
    from: SHARED,
    may: [CONTRACT, LIB, CONFIG, SEARCH_ATTRIBUTES],
    why: 'shared is used by both services, so it may depend on neither of them.',
  },
  {
    from: RULES,
    may: [CONTRACT, SHARED, RULES, /^lib\/lookup-table\.ts$/],
    packages: [/^node:crypto$/, /^uuid$/, /^fhir\/r4/, PURE_PACKAGES],
    why: 'Rules are pure: no I/O, no database, no clock.',
  },
  {
    from: /^packages\/record-summary\/src\/fhir\//,
    may: [],
    packages: [/^fhir\/r4/],
    why: 'Rules use what resources say: no I/O, and nothing of the pages.',
  },
  {
    from: EXCHANGE,
    may: [CONTRACT, SHARED, LIB, TEMPORAL, CONFIG],
    why: OWN_SERVICE,
  },
  {
    from: ORCHESTRATOR,
    may: [CONTRACT, SHARED, LIB, TEMPORAL, CONFIG],
    why: OWN_SERVICE,
  },
  {
    from: /^workflows\/shared\//,
    may: [CONTRACT],
    packages: WORKFLOW_PACKAGES,
    why: DETERMINISTIC,
  },
  {
    from: /^workflows\/exchange\//,
    may: [
      CONTRACT,
      RULES,
      /^workflows\/shared\//,
      /^activities\/exchange\//,
      SEARCH_ATTRIBUTES,
    ],
    packages: WORKFLOW_PACKAGES,
    why: DETERMINISTIC,
  },
  {
    from: /^workflows\/orchestrator\//,
    may: [
      CONTRACT,
      /^workflows\/shared\//,
      /^activities\/orchestrator\//,
      SEARCH_ATTRIBUTES,
    ],
    packages: WORKFLOW_PACKAGES,
    why: DETERMINISTIC,
  },
  {
    from: /^activities\/exchange\//,
    may: [CONTRACT, SHARED, LIB, TEMPORAL, EXCHANGE],
    why: 'Activities import their own service.',
  },
  {
    from: /^activities\/orchestrator\//,
    may: [CONTRACT, SHARED, LIB, TEMPORAL, ORCHESTRATOR],
    why: 'Activities import their own service.',
  },
  {
    from: LOCAL_STACK,
    may: [CONTRACT, LIB, CONFIG, TEMPORAL, KEY_FORMATS],
    why: 'local-stack is what the command line and the tools share, so it depends on neither.',
  },
  {
    from: /^tools\/simulator(?:\/|\.ts$)/,
    may: [
      CONTRACT,
      LIB,
      CONFIG,
      /^local-stack\/(?:simulator\/|sample-patients\.ts$)/,
    ],
    why: 'The simulator is a foreign server: it shares nothing with us but contract, lib and the requests of the command line.',
  },
  {
    from: EMBEDDED,
    may: [
      ...PRODUCT_FOR_TOOLS,
      ...FIRST_ACCOUNT,
      /^exchange\/messaging\/notifications\/mllp\/open-mllp\.ts$/,
    ],
    why: 'The embedded stack starts processes; of the exchange it needs only what creates the first account.',
  },
  {
    from: CLUSTER,
    may: [...PRODUCT_FOR_TOOLS, EMBEDDED],
    why: 'The cluster starts processes with what tools/embedded offers.',
  },
  {
    from: /^tools\/demo\//,
    may: [
      ...PRODUCT_FOR_TOOLS,
      EMBEDDED,
      CLUSTER,
      /^tools\/simulator\//,
      /^orchestrator\/patient-onboarding\/start-onboarding\.ts$/,
    ],
    why: 'The demo is a caller: it starts onboardings and reads what the interface shows.',
  },
  {
    from: /^tools\//,
    may: PRODUCT_FOR_TOOLS,
    why: 'A tool imports of the product only what scripts/import-rules.ts names.',
  },
  {
    from: /^bench\//,
    may: [
      /^(?!tools\/)/,
      EMBEDDED,
      CLUSTER,
      /^tools\/simulator\/(?:(?:admin-client|request-log|samples)\.ts$|data\/)/,
    ],
    why: 'A bench starts the embedded stack or the cluster, and of the simulator reads the data and the log.',
  },
];

/**
 * Returns why a file may not import something, or undefined if it may.
 *
 * @param file path below `src`, or one that begins with `tools/`, `bench/` or
 *   `packages/`: `exchange/patients/routes.ts`
 * @param imported path below `src`, or the name of a package
 */
export function refusal(
  file: string,
  imported: string,
  isPackage: boolean,
): string | undefined {
  const wrongWay = isPackage
    ? withinPackages(file, imported)
    : (ofPackages(file, imported) ??
      againstDirection(file, imported) ??
      ofDevelopers(file, imported));
  if (wrongWay !== undefined) return wrongWay;
  const rule = IMPORT_RULES.find(({ from }) => from.test(file));
  if (rule === undefined) return undefined;
  const allowed = isPackage ? rule.packages : [rule.from, ...rule.may];
  return allowed === undefined ||
    allowed.some((pattern) => pattern.test(imported))
    ? undefined
    : rule.why;
}

/**
 * A package of `packages` stands alone, and is imported only by its entry.
 */
function ofPackages(file: string, imported: string): string | undefined {
  const from = ownPackage(file);
  const to = ownPackage(imported);
  if (from === to) return undefined;
  return from === undefined
    ? `A package is imported by its name: '#${to}'.`
    : `packages/${from} stands alone: it imports only its own files and what its package.json names.`;
}

/** What a package.json says of dependencies. */
export interface Manifest {
  dependencies?: object;
  devDependencies?: object;
}

/**
 * Returns why a file of `packages` may not import a package, or undefined if it
 * may: its own package.json must name it, because whoever installs the package
 * has nothing else. Its tests may also import what only developers need.
 */
export function undeclared(
  file: string,
  imported: string,
  { dependencies = {}, devDependencies = {} }: Manifest,
): string | undefined {
  const [, name = ''] = /^((?:@[^/]+\/)?[^/]+)/.exec(imported) ?? [];
  const isTest = /^packages\/[\w-]+\/test\//.test(file);
  const declared = isTest
    ? { ...dependencies, ...devDependencies }
    : dependencies;
  const isDeclared = name in declared || `@types/${name}` in declared;
  return imported.startsWith('node:') || isDeclared
    ? undefined
    : `Its package.json does not name ${name}.`;
}

/** The names with # are those of the root's package.json. */
function withinPackages(file: string, imported: string): string | undefined {
  return imported.startsWith('#') && ownPackage(file) !== undefined
    ? `${imported} is known only outside packages. Name the other package in package.json, and import it by that name.`
    : undefined;
}

/** The name of the package that a path belongs to, if it belongs to one. */
const ownPackage = (path: string): string | undefined =>
  /^packages\/([\w-]+)\//.exec(path)?.[1];

/**
 * Files in a district import no higher district, and not what assembles the
 * exchange: the files beside the districts.
 */
function againstDirection(file: string, imported: string): string | undefined {
  const from = districtOf(file);
  if (from === undefined || !EXCHANGE.test(imported)) return undefined;
  const to = districtOf(imported);
  if (to === undefined)
    return `${from} does not import what assembles the exchange.`;
  return DISTRICTS.indexOf(to) <= DISTRICTS.indexOf(from)
    ? undefined
    : `${from} is below ${to}: let ${to} register what it adds, or move the shared part down.`;
}

/** What only developers run. */
const DEVELOPERS = /^(?:tools|bench|test|scripts|examples)\//;

function ofDevelopers(file: string, imported: string): string | undefined {
  return DEVELOPERS.test(imported) && !DEVELOPERS.test(file)
    ? 'src imports nothing that production never runs: no tools, no bench, no test.'
    : undefined;
}

const districtOf = (path: string) =>
  DISTRICTS.find((district) => path.startsWith(`exchange/${district}/`));
