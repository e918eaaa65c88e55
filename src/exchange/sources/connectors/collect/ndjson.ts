import type { SourceType } from '../../../../contract/primitives.ts';
import { badResponse, failureOfRest, isRecord } from '../http/failures.ts';
import { describeType, readError } from '../http/source-http.ts';
import { readSourceJson } from '../http/source-json.ts';
import type { SourceContext } from '../source-context.ts';
import type { FetchedPart } from './fetched-part.ts';
import type { StepOf } from './plan.ts';

const FILE = 'a file of its job';
const LINES_MAX = 500;
const BLANK_BYTES_MAX = 1_000_000;
const NEWLINE = 0x0a;
export const FHIR_NDJSON = 'application/fhir+ndjson';
/** File stores often send octet-stream, so it is accepted; each line is checked anyway. */
const NDJSON_TYPES = new Set([
  FHIR_NDJSON,
  'application/ndjson',
  'application/x-ndjson',
  'application/octet-stream',
  'binary/octet-stream',
]);

/** Streams one NDJSON file and splits it into pages; the step after each page continues after that page's last line. */
export async function* fetchFile(
  { config, http }: SourceContext,
  step: StepOf<'file'>,
  signal: AbortSignal,
): AsyncGenerator<FetchedPart> {
  const response = await http.send({
    method: 'GET',
    url: new URL(step.url),
    label: FILE,
    accept: FHIR_NDJSON,
    withToken: step.withToken,
    streamed: true,
    signal,
  });
  if (response.status !== 200) throw failureOfRest(config.source, FILE, await readError(response));
  if (!NDJSON_TYPES.has(response.mediaType)) {
    await response.discard();
    throw badResponse(
      config.source,
      `answered ${FILE} with ${describeType(response.mediaType)} instead of NDJSON`,
    );
  }
  const limits = { linesMax: LINES_MAX, bytesMax: config.pageBytesMax, offsetBytes: step.offsetBytes };
  for await (const cut of cutLines(response.chunks(), limits)) {
    if (cut.kind === 'too-long')
      throw badResponse(config.source, `sent a line longer than ${config.pageBytesMax} bytes in ${FILE}`);
    if (cut.kind === 'too-short')
      throw badResponse(config.source, `returned ${FILE} that is shorter than at the previous read`);
    if (cut.kind === 'too-blank')
      throw badResponse(config.source, `sent more than ${BLANK_BYTES_MAX} bytes of blank lines in ${FILE}`);
    const lines = cut.lines.map((line) => ({ line, resource: resourceOf(line, config.source) }));
    yield {
      entries: lines.map(({ resource }) => ({ resource })),
      raw: { bytes: Buffer.concat(cut.lines), contentType: FHIR_NDJSON },
      rawWithout: (misattributed) =>
        Buffer.concat(lines.filter(({ resource }) => !misattributed.has(resource)).map(({ line }) => line)),
      next: cut.isLast ? [] : [{ ...step, offsetBytes: cut.endBytes }],
    };
  }
}

type Cut =
  | { kind: 'lines'; lines: Buffer[]; isLast: boolean; endBytes: number }
  | { kind: 'too-long' }
  | { kind: 'too-blank' }
  | { kind: 'too-short' };

interface CutLimits {
  linesMax: number;
  bytesMax: number;
  /** Bytes of earlier pages, which are skipped. */
  offsetBytes: number;
}

/**
 * Splits a stream into groups of lines and drops blank lines. A group is yielded only once another line follows it, so
 * that the last group can be marked as the last. An empty file yields one empty group.
 */
export async function* cutLines(parts: AsyncIterable<Buffer>, limits: CutLimits): AsyncGenerator<Cut> {
  let group: Buffer[] = [];
  let groupBytes = 0;
  let endBytes = limits.offsetBytes;
  let blankBytes = 0;
  for await (const line of linesOf(parts, limits)) {
    if (line === 'too-long') return yield { kind: 'too-long' };
    if (line === 'too-short') return yield { kind: 'too-short' };
    const isBlank = line.toString('latin1').trim() === '';
    const isFull = group.length >= limits.linesMax || groupBytes + line.length > limits.bytesMax;
    if (!isBlank && isFull && group.length > 0) {
      yield { kind: 'lines', lines: group, isLast: false, endBytes };
      group = [];
      groupBytes = 0;
    }
    endBytes += line.length;
    if (isBlank) {
      // A few bytes of gzip can expand to endless blank lines, so they need a limit of their own.
      blankBytes += line.length;
      if (blankBytes > BLANK_BYTES_MAX) return yield { kind: 'too-blank' };
      continue;
    }
    group.push(line);
    groupBytes += line.length;
  }
  yield { kind: 'lines', lines: group, isLast: true, endBytes };
}

async function* linesOf(
  parts: AsyncIterable<Buffer>,
  { offsetBytes, bytesMax }: CutLimits,
): AsyncGenerator<Buffer | 'too-long' | 'too-short'> {
  let toSkipBytes = offsetBytes;
  let tail: Buffer[] = [];
  let tailBytes = 0;
  for await (const part of parts) {
    let start = Math.min(toSkipBytes, part.length);
    toSkipBytes -= start;
    for (let end = part.indexOf(NEWLINE, start); end >= 0; end = part.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...tail, part.subarray(start, end + 1)]);
      if (line.length > bytesMax) return yield 'too-long';
      yield line;
      tail = [];
      tailBytes = 0;
      start = end + 1;
    }
    tail.push(part.subarray(start));
    tailBytes += part.length - start;
    if (tailBytes > bytesMax) return yield 'too-long';
  }
  if (toSkipBytes > 0) return yield 'too-short';
  if (tailBytes > 0) yield Buffer.concat(tail);
}

function resourceOf(line: Buffer, source: SourceType): Record<string, unknown> {
  const read = readSourceJson(line);
  if (!read.isRead) throw badResponse(source, `answered ${FILE} with a line of ${read.fault}`);
  if (!isRecord(read.json)) throw badResponse(source, `answered ${FILE} with a line of broken JSON`);
  return read.json;
}
