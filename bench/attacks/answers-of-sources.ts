import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Attack, Target } from './attack.ts';
import { bundle, FHIR, familyIn, observation } from './hostile-source.ts';
import { queryHostile } from './query.ts';

const CODINGS: [string, (text: string) => Buffer | string][] = [
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
  ['gzip, gzip', (text) => gzipSync(gzipSync(text))],
  ['br', () => 'this is not Brotli'],
];

const workerOf = ({ stack }: Target) => stack.stack.pids().worker;

/**
 * One such answer once ended each worker that read it. The capability statement
 * is in Brotli, too.
 */
export const encodedAnswers: Attack = {
  name: 'A source answers in br, deflate, gzip twice, and in br that is none',
  async run(target) {
    const worker = workerOf(target);
    const ends: string[] = [];
    for (const [coding, encode] of CODINGS) {
      target.source.answerWith((request, response) =>
        response
          .writeHead(200, { ...FHIR, 'content-encoding': coding })
          .end(
            encode(JSON.stringify(bundle([observation(familyIn(request))]))),
          ),
      );
      ends.push(await queryHostile(target));
    }
    const isSame = worker === workerOf(target);
    const holds = isSame && ends[0] === 'completed' && ends[1] === 'completed';
    return {
      seen: `${ends.join('; ')}; ${isSame ? 'the same worker' : 'the worker ended'}`,
      holds,
    };
  },
};

export const deepAnswer: Attack = {
  name: 'A Bundle nested 200,000 levels deep',
  async run(target) {
    const worker = workerOf(target);
    target.source.answerWith((_request, response) =>
      response
        .writeHead(200, FHIR)
        .end(
          `{"resourceType":"Bundle","extension":${'[{"extension":'.repeat(200_000)}`,
        ),
    );
    const end = await queryHostile(target);
    return {
      seen: end,
      holds:
        end !== 'no answer' &&
        end !== 'completed' &&
        worker === workerOf(target),
    };
  },
};

export const strayToken: Attack = {
  name: 'Next link, redirect and document at another allowed origin',
  async run(target) {
    const { source } = target;
    source.askedElsewhere.length = 0;
    const letter = (family: string) => ({
      resourceType: 'DocumentReference',
      id: 'd1',
      status: 'current',
      subject: { reference: `Patient/${family}` },
      content: [
        {
          attachment: {
            contentType: 'text/plain',
            url: `${source.elsewhere}/letter`,
          },
        },
      ],
    });
    source.answerWith((request, response) => {
      const family = familyIn(request);
      const first = bundle(
        [observation(family), letter(family)],
        `${source.elsewhere}/next`,
      );
      response.writeHead(200, FHIR).end(JSON.stringify(first));
    });
    await queryHostile(target);
    source.answerWith((_request, response) =>
      response.writeHead(307, { location: `${source.elsewhere}/moved` }).end(),
    );
    await queryHostile(target);
    const paths = new Set(source.askedElsewhere.map(({ path }) => path));
    const withToken = source.askedElsewhere.filter(
      ({ authorization }) => authorization !== undefined,
    );
    return {
      seen: `asked for ${[...paths].join(', ')}, ${withToken.length} times with the token`,
      holds:
        ['/next', '/moved', '/letter'].every((path) => paths.has(path)) &&
        withToken.length === 0,
    };
  },
};
