/*
 * Runs ViewDefinitions of SQL on FHIR v2 (README.md).
 */

export { checkDefinition } from './budget.ts';
export type { JsonObject } from './json.ts';
export { compileView, type View, type ViewColumn } from './view.ts';
export { ViewError } from './view-error.ts';
export { WrittenDecimal } from './written-decimal.ts';
