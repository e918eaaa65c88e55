import { parentPort } from 'node:worker_threads';
import { ViewError } from '#sql-on-fhir';
import type { PlannedView } from '../rules/view-run.ts';
import { planView } from './planned-view.ts';

/** A message to the thread: definitions as JSON. */
export type DefinitionJob = readonly string[];

export type DefinitionAnswer = { views: PlannedView[] } | { fault: string };

parentPort?.on('message', (job: DefinitionJob) => {
  parentPort?.postMessage(answerOf(job));
});

function answerOf(job: DefinitionJob): DefinitionAnswer {
  try {
    return { views: job.map((text) => planView(JSON.parse(text))) };
  } catch (error) {
    if (error instanceof ViewError) return { fault: error.message };
    throw error;
  }
}
