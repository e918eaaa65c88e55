/** Longer than the gateway is ever silent during a stream; some broken connections can only be noticed by silence. */
const SILENCE_MS = 45_000;

/**
 * The lines of a response, as they arrive. Throws when nothing arrives for too long.
 * @param {Response} answer @returns {AsyncGenerator<string>}
 */
export async function* linesOf(answer) {
  if (answer.body === null) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await soon(reader.read());
      if (done) break;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  if (rest !== '') yield rest;
}

/**
 * @template T
 * @param {Promise<T>} coming @returns {Promise<T>}
 */
function soon(coming) {
  let timer = 0;
  const silence = new Promise((_, fail) => {
    timer = setTimeout(
      () => fail(new TypeError('no data received')),
      SILENCE_MS,
    );
  });
  return Promise.race([coming, silence]).finally(() => clearTimeout(timer));
}

/**
 * Server-sent events, read with fetch: an EventSource could send the token only in its URL.
 * @param {Response} answer @returns {AsyncGenerator<{event: string, data: any}>}
 */
export async function* eventsOf(answer) {
  let event = 'message';
  let data = '';
  for await (const line of linesOf(answer)) {
    if (line.startsWith('event: ')) event = line.slice(7);
    else if (line.startsWith('data: ')) data += line.slice(6);
    else if (line === '' && data !== '') {
      yield { event, data: JSON.parse(data) };
      event = 'message';
      data = '';
    }
  }
}
