/**
 * The lines of an answer, as they come.
 * @param {Response} answer @returns {AsyncGenerator<string>}
 */
export async function* linesOf(answer) {
  if (answer.body === null) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/**
 * Server-sent events, read by fetch: an EventSource could not send the token but in its address.
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
