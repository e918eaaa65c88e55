import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';

export const addSignal = defineSignal<[string]>('add');
export const addUpdate = defineUpdate<string, [string]>('addAndRead');
export const countQuery = defineQuery<number, [string]>('countOf');

const { echo, waitOutside } = proxyActivities<{
  echo(value: string): Promise<string>;
  waitOutside(): Promise<string>;
}>({ startToCloseTimeout: '1 m', retry: { maximumAttempts: 2 } });

/** Takes all kinds of input, and ends with what it has believed. */
export async function believer(first: string): Promise<string[]> {
  const believed = [first];
  setHandler(addSignal, (value) => void believed.push(value));
  setHandler(addUpdate, (value) => {
    believed.push(value);
    return believed.join(' ');
  });
  setHandler(
    countQuery,
    (value) => believed.filter((each) => each === value).length,
  );
  believed.push(await echo('echo'));
  await waitOutside().then(
    (value) => believed.push(value),
    (error: Error & { cause?: Error }) =>
      believed.push(`failed: ${error.message}`),
  );
  await condition(() => believed.includes('end'));
  return believed;
}
