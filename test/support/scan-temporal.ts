import { type Client, isGrpcServiceError } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';

/**
 * Everything that Temporal holds of all workflows and schedules, as it holds it
 * (decoded only with a `codec`), as one text to search for words that must not
 * be there: ids, types, queues, memos, search attributes, every event of every
 * history, update ids, pending activities with their last failure and
 * heartbeat. Look for words of five letters and more: encrypted bytes read as
 * text hold short ones by chance.
 */
export async function dumpTemporal(
  client: Client,
  codec?: PayloadCodec,
): Promise<string> {
  const words: string[] = [];
  const { workflowService } = client;
  const { namespace } = client.options;
  async function dump(execution: Execution): Promise<void> {
    await collectText(
      await workflowService.describeWorkflowExecution({ namespace, execution }),
      words,
      codec,
    );
    let nextPageToken: Uint8Array | undefined;
    do {
      const page = await workflowService.getWorkflowExecutionHistory({
        namespace,
        execution,
        nextPageToken,
      });
      await collectText(page.history, words, codec);
      nextPageToken = tokenOf(page.nextPageToken);
    } while (nextPageToken !== undefined);
  }
  // The first run of an onboarding is deleted while others are listed.
  for await (const execution of executions(client))
    await dump(execution).catch((error: unknown) => {
      if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) throw error;
    });
  for await (const { scheduleId } of client.schedule.list())
    await collectText(
      await workflowService.describeSchedule({ namespace, scheduleId }),
      words,
      codec,
    );
  return words.join('\n');
}

/** gRPC's status of what does not exist. */
const NOT_FOUND = 5;

type Execution = { workflowId?: string | null; runId?: string | null };

async function* executions(client: Client): AsyncGenerator<Execution> {
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await client.workflowService.listWorkflowExecutions({
      namespace: client.options.namespace,
      nextPageToken,
    });
    for (const { execution } of page.executions) if (execution) yield execution;
    nextPageToken = tokenOf(page.nextPageToken);
  } while (nextPageToken !== undefined);
}

const tokenOf = (
  token: Uint8Array | null | undefined,
): Uint8Array | undefined => (token && token.length > 0 ? token : undefined);

async function collectText(
  value: unknown,
  words: string[],
  codec?: PayloadCodec,
): Promise<void> {
  if (typeof value === 'string') words.push(value);
  else if (value instanceof Uint8Array)
    words.push(Buffer.from(value).toString('utf8'));
  else if (codec !== undefined && isEncrypted(value))
    await collectText(await codec.decode([value]), words);
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) {
      words.push(key);
      await collectText(member, words, codec);
    }
}

/** A value, such as events, as text to search; decoded only with a `codec`. */
export async function textOf(
  value: unknown,
  codec?: PayloadCodec,
): Promise<string> {
  const words: string[] = [];
  await collectText(value, words, codec);
  return words.join('\n');
}

const isEncrypted = (value: unknown): value is Payload => {
  const { encoding } = (value as Payload | null)?.metadata ?? {};
  return (
    encoding instanceof Uint8Array &&
    Buffer.from(encoding).toString() === 'binary/encrypted'
  );
};
