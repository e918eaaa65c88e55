/** Columns with days on which something has happened. */
export const DAY_COLUMNS = [
  'Date',
  'Since',
  'From',
  'Ordered',
  'Noted',
] as const;

/**
 * Columns that only give context (when, by whom): a row with nothing else is
 * not shown.
 */
export const CONTEXT_COLUMNS = [
  ...DAY_COLUMNS,
  'Until',
  'Period',
  'Status',
  'Manufactured',
  'Origin',
] as const;

/** The title of a column of a table with a row for each resource. */
export type ColumnTitle =
  | (typeof CONTEXT_COLUMNS)[number]
  | 'Activities'
  | 'Alert'
  | 'By'
  | 'By; reason'
  | 'Class'
  | 'Conclusion'
  | 'Conditions'
  | 'Criticality'
  | 'Device'
  | 'Diagnosis'
  | 'Directions'
  | 'Directive'
  | 'Document'
  | 'Dose'
  | 'Encounter'
  | 'Finding'
  | 'For'
  | 'Format'
  | 'Goal'
  | 'Kind'
  | 'Lot'
  | 'Medication'
  | 'Members'
  | 'Modality'
  | 'Notes'
  | 'Observation'
  | 'Payer'
  | 'Plan'
  | 'Problem'
  | 'Procedure'
  | 'Quantity'
  | 'Reactions'
  | 'Reason'
  | 'Relative'
  | 'Report'
  | 'Serial number'
  | 'Study'
  | 'Substance'
  | 'Supply'
  | 'Taken'
  | 'Vaccine'
  | 'Value'
  | 'Where'
  | 'Where and with whom';
