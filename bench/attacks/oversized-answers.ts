import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { type Attack, mainThreadCpuMs, type Target } from './attack.ts';
import { bundle, FHIR, familyIn, observation } from './hostile-source.ts';
import { queryHostile } from './query.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * CPU that the worker's main thread may use for one query, on top of what it
 * uses without an attack.
 */
const CPU_MAX_MS = 5_000;
const MEGABYTE = 1_000_000;

const json =
  (textOf: (family: string) => string): Answer =>
  (request, response) =>
    response.writeHead(200, FHIR).end(textOf(familyIn(request)));

/**
 * The text of a Bundle with one result, in which this member stands besides the
 * others.
 */
const withMember = (family: string, member: string) =>
  JSON.stringify(bundle([observation(family)])).replace(
    '"status":',
    `${member},"status":`,
  );

/** So many megabytes of one letter, compressed a thousandfold. */
const bomb = (letter: string, megabytes: number) =>
  gzipSync(Buffer.alloc(megabytes * MEGABYTE, letter));

/**
 * Accepts the request as a job whose result is one file, and answers for all
 * three.
 */
const asFile =
  (file: Answer): Answer =>
  (request, response) => {
    const { host } = request.headers;
    if (request.url?.endsWith('/file')) return file(request, response);
    if (request.method === 'DELETE') return void response.writeHead(202).end();
    if (!request.url?.endsWith('/job'))
      return void response
        .writeHead(202, { 'content-location': `http://${host}/fhir/job` })
        .end();
    const output = [{ type: 'Observation', url: `http://${host}/fhir/file` }];
    const manifest = {
      transactionTime: '2026-01-01T00:00:00Z',
      request: 'x',
      requiresAccessToken: true,
    };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ ...manifest, output, error: [] }));
  };

/** Starts an answer and sends a byte a second. */
const dripping: Answer = (_request, response) => {
  response.writeHead(200, FHIR);
  const drip = setInterval(() => response.write(' '), 1_000);
  response.once('close', () => clearInterval(drip));
};

interface Case {
  name: string;
  answer: Answer;
  /** What the query must come to: completed, or a reason that matches. */
  end: RegExp;
  timeoutMs?: number;
}

const CASES: readonly Case[] = [
  {
    name: 'A Bundle in gzip that becomes 500 MB',
    answer: (_request, response) =>
      response
        .writeHead(200, { ...FHIR, 'content-encoding': 'gzip' })
        .end(bomb(' ', 500)),
    end: /more than 20 MB/,
  },
  {
    name: 'NDJSON in gzip: 500 MB of blank lines',
    answer: asFile((_request, response) =>
      response
        .writeHead(200, {
          'content-type': 'application/fhir+ndjson',
          'content-encoding': 'gzip',
        })
        .end(bomb('\n', 500)),
    ),
    end: /^(?!no answer|completed)/,
  },
  {
    name: 'Headers of 1 MB',
    answer: (_request, response) =>
      response
        .writeHead(200, { ...FHIR, 'x-long': 'a'.repeat(MEGABYTE) })
        .end('{}'),
    end: /refused or dropped|header/i,
  },
  {
    name: 'A redirect to itself, without end',
    answer: ({ url }, response) =>
      response.writeHead(307, { location: url }).end(),
    end: /redirected .* more than 5 times/,
  },
  {
    name: 'A next link to the same page, without end',
    answer: (request, response) => {
      const next = `http://${request.headers.host}${request.url}`;
      response
        .writeHead(200, FHIR)
        .end(JSON.stringify(bundle([observation(familyIn(request))], next)));
    },
    end: /^(?!no answer|completed)/,
    timeoutMs: 240_000,
  },
  {
    name: 'A number of a million digits',
    answer: json((family) =>
      withMember(family, `"valueInteger":${'9'.repeat(MEGABYTE)}`),
    ),
    end: /./,
  },
  {
    name: 'Members named __proto__, constructor and prototype',
    answer: json((family) =>
      withMember(
        family,
        '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"prototype":{}',
      ),
    ),
    end: /./,
  },
  {
    name: 'A result twice the same key, for two patients',
    answer: json((family) =>
      withMember(family, '"subject":{"reference":"Patient/somebody-else"}'),
    ),
    end: /./,
  },
  {
    name: 'A body of one byte a second',
    answer: dripping,
    end: /did not answer .* within 30 s/,
    timeoutMs: 120_000,
  },
];

/**
 * Each ends as that query's failure, or as its result, in the same worker and
 * within a bounded amount of work.
 */
export const oversizedAnswers: readonly Attack[] = CASES.map(
  ({ name, answer, end, timeoutMs }) => ({
    name: `A source answers with: ${name}`,
    async run(target: Target) {
      const workerOf = () => target.stack.stack.pids().worker;
      const worker = workerOf();
      const before = await mainThreadCpuMs(worker);
      target.source.answerWith(answer);
      const seen = await queryHostile(target, timeoutMs);
      const cpuMs = (await mainThreadCpuMs(worker)) - before;
      const isSame = worker === workerOf();
      return {
        seen: `${seen}; ${isSame ? 'the same worker' : 'the worker ended'}, ${cpuMs.toFixed(0)} ms of CPU in its main thread`,
        holds:
          isSame &&
          end.test(seen) &&
          seen !== 'no answer' &&
          !(cpuMs > CPU_MAX_MS),
      };
    },
  }),
);
