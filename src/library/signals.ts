/**
 * Names and types of the orchestrator's workflows: workflow types, ids, task
 * queues, signals, queries, updates, search attributes, inputs and results.
 * Safe to import in workflow code.
 */

export * from '../contract/bulk-onboarding.ts';
export * from '../contract/cohort-monitoring.ts';
export * from '../contract/patient-onboarding.ts';
export * from '../contract/temporal.ts';
export { searchAttribute } from '../temporal/search-attributes.ts';
