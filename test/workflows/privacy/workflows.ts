import {
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
} from '@temporalio/workflow';

/**
 * A workflow that puts a person's name wherever a workflow can put data, to
 * prove that none of it is readable.
 */
export async function leakyWorkflow(name: string): Promise<string> {
  let told = '';
  setHandler(tellSignal, (value) => {
    told = value;
  });
  setHandler(askUpdate, (value) => `updated ${value}`, {
    validator: (value) => {
      if (value === 'refuse')
        throw ApplicationFailure.nonRetryable(`refused ${name}`, 'Refused', {
          name,
        });
    },
  });
  setHandler(toldQuery, () => told);
  setCurrentDetails(`details of ${name}`);
  await sleep(1, { summary: `timer of ${name}` });
  await greet(name).catch(() => undefined);
  await condition(() => told !== '');
  throw ApplicationFailure.nonRetryable(
    `workflow failed for ${name}`,
    'Leaky',
    { name },
  );
}

export const tellSignal = defineSignal<[string]>('tell');
export const askUpdate = defineUpdate<string, [string]>('ask');
export const toldQuery = defineQuery<string>('told');

const { greet } = proxyActivities<{ greet(name: string): Promise<string> }>({
  startToCloseTimeout: '5 s',
  retry: { maximumAttempts: 2, initialInterval: '10 ms' },
});
