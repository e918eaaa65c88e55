// First: it counts in what is compiled after it.

import { request } from 'undici';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { stepsOf } from '../../test/support/steps.ts';
import {
  CALLER_TEXTS,
  type CallerText,
} from '../../test/unit/fuzz/caller-texts.ts';
import type { FloodRequest } from '../overload/flood-kinds.ts';
import { type Attack, slowestHealth, type Target } from './attack.ts';

/** What is tried of each language, and how many of its worst are sent. */
const TRIED = 60;
const SENT_OF_EACH = 2;
const LENGTHS = [200, 900, 3_000, 9_000];
const HEALTH_MAX_MS = 300;
const REFUSED_IN_MS = 100;

/** 255 bytes with which a gateway once computed for eight minutes. */
const MINUS_SIGNS = `${'-'.repeat(40)}1`;

type Language = Exclude<
  keyof typeof CALLER_TEXTS,
  // Read by a worker, when its file has been uploaded.
  'header of a CSV file'
>;

const FHIR_JSON = {
  'content-type': 'application/fhir+json',
  prefer: 'respond-async',
};
const viewExport = (viewResource: object): FloodRequest => ({
  method: 'POST',
  path: '/fhir/R4/ViewDefinition/$viewdefinition-export',
  headers: FHIR_JSON,
  body: {
    resourceType: 'Parameters',
    parameter: [
      {
        name: 'view',
        part: [{ name: 'viewResource', resource: viewResource }],
      },
    ],
  },
});
const GUIDE =
  'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition';

/** How a text of each language gets to a gateway; undefined: not at all. */
const DOORS: Readonly<
  Record<Language, (text: string) => FloodRequest | undefined>
> = {
  'FHIRPath of a view': (path) =>
    viewExport({
      resourceType: 'ViewDefinition',
      status: 'active',
      resource: 'Patient',
      select: [{ column: [{ name: 'a', path }] }],
    }),
  'ViewDefinition as JSON': (text) => {
    try {
      return viewExport({
        resourceType: 'ViewDefinition',
        status: 'active',
        ...(JSON.parse(text) as object),
      });
    } catch {
      return undefined;
    }
  },
  'search of the FHIR API': (text) => ({
    method: 'GET',
    path: `/fhir/R4/Observation?${text.replaceAll(/[^\w=&,%+:?-]/g, encodeURIComponent)}`,
  }),
  '_typeFilter of an export': (text) => ({
    method: 'GET',
    path: `/fhir/R4/$export?_typeFilter=${encodeURIComponent(text)}`,
    headers: { prefer: 'respond-async' },
  }),
  'filter of a Subscription': (text) => ({
    method: 'POST',
    path: '/fhir/R4/Subscription',
    headers: FHIR_JSON,
    body: {
      resourceType: 'Subscription',
      status: 'requested',
      reason: 'attack',
      criteria:
        'http://hl7.org/fhir/us/core/SubscriptionTopic/patient-data-feed',
      _criteria: {
        extension: [
          {
            url: `${GUIDE}/backport-filter-criteria`,
            valueString: text.slice(0, 4_000) || 'x',
          },
        ],
      },
      channel: {
        type: 'rest-hook',
        endpoint: 'https://attack.example.org/hook',
        payload: 'application/fhir+json',
        _payload: {
          extension: [
            { url: `${GUIDE}/backport-payload-content`, valueCode: 'empty' },
          ],
        },
      },
    },
  }),
  'arguments of an agent': (text) => ({
    method: 'POST',
    path: '/mcp',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_patient","arguments":${isJsonObject(text) ? text : '{}'}}}`,
  }),
};

function isJsonObject(text: string): boolean {
  try {
    return /^\s*\{/.test(text) && typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

/** The texts of a language that cost most steps, of those that were tried. */
function worstOf({ words, samples, parse, refusals }: CallerText): string[] {
  const random = seededRandom(1);
  const some = (count: number) =>
    Array.from({ length: count }, () => random.pick(words)).join('');
  const read = (text: string) => () => {
    try {
      parse(text);
    } catch (error) {
      if (!refusals.some((refusal) => error instanceof refusal)) throw error;
    }
  };
  const tried = Array.from({ length: TRIED }, (_, index) => {
    const repeated = some(1 + (index % 4));
    const length = LENGTHS[index % LENGTHS.length] ?? 0;
    const [sample = ''] = samples;
    const begin = index % 2 === 0 ? '' : sample;
    const times = Math.max(1, Math.floor(length / repeated.length));
    return `${begin}${repeated.repeat(times)}`;
  });
  const costs = tried.map((text) => {
    read(text)();
    return { text, steps: stepsOf(read(text)) };
  });
  return costs
    .sort((left, right) => right.steps - left.steps)
    .slice(0, SENT_OF_EACH)
    .map(({ text }) => text);
}

/** The status, and how long it took. */
async function answered(
  { stack, account }: Target,
  { method, path, headers, body }: FloodRequest,
): Promise<{ status: number; ms: number }> {
  const startedAt = performance.now();
  const answer = await request(`${stack.connection.baseUrl}${path}`, {
    method,
    headers: { 'x-api-key': account.apiKey, ...headers },
    body: typeof body === 'object' ? JSON.stringify(body) : body,
  });
  await answer.body.dump();
  return { status: answer.statusCode, ms: performance.now() - startedAt };
}

export const wordsOfCallers: Attack = {
  name: `expressions: 40 minus signs beside the worst ${SENT_OF_EACH} texts of each language that a search finds`,
  async run(target) {
    const searched = Object.entries(DOORS).flatMap(([name, door]) =>
      worstOf(CALLER_TEXTS[name as Language])
        .map(door)
        .filter((each) => each !== undefined)
        .map((sent) => ({ name, sent })),
    );
    const signs = DOORS['FHIRPath of a view'](MINUS_SIGNS) as FloodRequest;
    // The first one starts the thread that reads definitions.
    await answered(target, signs);
    const alone = await answered(target, signs);
    const others: string[] = [];
    const statuses = new Set<number>();
    for (const { name, sent } of searched) {
      const { status, ms } = await answered(target, sent);
      statuses.add(status);
      others.push(`${name} ${status} in ${ms.toFixed(0)} ms`);
    }
    const all = [signs, ...searched.map(({ sent }) => sent)];
    const health = await slowestHealth(
      target,
      Promise.all(
        all.map(async (sent) => {
          for (let times = 0; times < 5; times += 1)
            statuses.add((await answered(target, sent)).status);
        }),
      ),
    );
    return {
      seen: `40 minus signs ${alone.status} in ${alone.ms.toFixed(0)} ms; ${others.join(', ')}; ${all.length} at once: ${[...statuses].join(', ')}, slowest /health ${health}`,
      holds:
        alone.status === 400 &&
        alone.ms < REFUSED_IN_MS &&
        [...statuses].every((status) => status < 500 || status === 503) &&
        Number.parseInt(health, 10) < HEALTH_MAX_MS,
    };
  },
};
