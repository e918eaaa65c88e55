import { BULK_MODEL } from './bulk-model.ts';
import { COHORT_MODEL } from './cohort-model.ts';
import { ONBOARDING_MODEL } from './onboarding-model.ts';
import { QUERY_MODEL } from './query-model.ts';
import {
  checkModel,
  type ModelRun,
  type ModelRunOptions,
  type ModelStack,
} from './world.ts';

/** The models of the parts of the exchange that last. */
export const MODELS: Readonly<
  Record<
    string,
    (stack: ModelStack, options: ModelRunOptions) => Promise<ModelRun>
  >
> = {
  query: (stack, options) => checkModel(stack, QUERY_MODEL, options),
  'bulk create': (stack, options) => checkModel(stack, BULK_MODEL, options),
  'cohort and monitoring': (stack, options) =>
    checkModel(stack, COHORT_MODEL, options),
  onboarding: (stack, options) => checkModel(stack, ONBOARDING_MODEL, options),
};
