/*
 * Summarises a person's FHIR record for readers, as html and pdf (README.md).
 */

export { fittedTables } from './fitted-tables.ts';
export {
  emptyText,
  type RecordOrigin,
  type RecordPart,
  type RecordReader,
  type RecordResource,
  type RecordStanding,
  recordOf,
} from './record.ts';
export {
  CHART_STYLE,
  factHtml,
  HTML_STYLE,
  renderHtml,
} from './render-html.ts';
export { renderPdf } from './render-pdf.ts';
export { type PageOne, pageOne, summarise } from './summarise.ts';

/*
 * The parts of a summary, for renderers of one's own.
 */

export type {
  Column,
  HeadFact,
  OverviewBlock,
  OverviewItem,
  SummaryCell,
  SummaryHead,
  SummaryPart,
} from './parts.ts';

/*
 * Its rules, for other documents that are made of the same record.
 */

export { directions } from './directions.ts';
export { deathOf, personFacts } from './life.ts';
export { linkedResources } from './linked-resources.ts';
export { resultTable, vitalSignTable } from './measurements.ts';
export { notUnderstoodNotes } from './not-understood.ts';
export { markedName } from './observation.ts';
export { measuredThing, RETRACTED } from './overview/measurement.ts';
export { productKey } from './overview/medications-block.ts';
export { reasonName } from './problems.ts';
export {
  type Lookup,
  type SectionRule,
  type SummaryEntry,
  summaryEntry,
  type TableRule,
} from './section.ts';
export {
  activeProblems,
  allergyTable,
  carePlanTable,
  currentMedications,
  deviceTable,
  encounterDiagnoses,
  immunizationTable,
  observationTable,
  pastProblems,
  procedureTable,
  reportTable,
  SECTION,
} from './sections.ts';
export {
  lookUp,
  rowTexts,
  STATING_TYPES,
  sectionParts,
} from './summarise.ts';

/*
 * Its pages, for other documents that look like it.
 */

export { ACCENT, ALERT, type Element, PdfPages, SOFT } from './pdf-document.ts';
export { PdfTable } from './pdf-table.ts';
